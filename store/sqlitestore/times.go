package sqlitestore

import "time"

// toMicros is a time as it is stored; nil is none.
func toMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func toTime(micros any) time.Time {
	if m, ok := micros.(int64); ok {
		return time.UnixMicro(m).UTC()
	}
	return time.Time{}
}

// column scans a stored time.
type column struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c column) Scan(value any) error {
	*c.to = toTime(value)
	return nil
}
