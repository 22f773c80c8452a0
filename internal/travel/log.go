package travel

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Entry is one execution: a line of the log.
type Entry struct {
	Time    time.Time `json:"time"`
	Tool    string    `json:"tool"`
	Booking string    `json:"booking,omitempty"` // unique for each execution of book_flight
	Call    string    `json:"call,omitempty"`    // the call's idempotency key
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Date    string    `json:"date,omitempty"`
	Flight  string    `json:"flight,omitempty"`
	Bags    int       `json:"bags,omitempty"`
	Aisle   *bool     `json:"aisle,omitempty"`
	Price   int       `json:"price,omitempty"` // whole euros
	Keep    string    `json:"keep,omitempty"`
	People  int       `json:"people,omitempty"`
	Hotel   string    `json:"hotel,omitempty"`
}

// Entries returns what was executed so far, oldest first.
func (s *Server) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// ReadLog reads a log file.
func ReadLog(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, _, err := readEntries(file)
	return entries, err
}

// readEntries returns the entries and their length in bytes. What stands after the last
// line break is still being written, or was when the process died: it does not count.
func readEntries(file *os.File) (entries []Entry, size int64, err error) {
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var entry Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, 0, fmt.Errorf("%s: line %d: %w", file.Name(), n, err)
		}
		entries, size = append(entries, entry), size+int64(len(line))
	}
}

func (s *Server) openLog() error {
	if s.options.LogFile == "" {
		return nil
	}
	file, err := os.OpenFile(s.options.LogFile, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	entries, size, err := readEntries(file)
	if err == nil {
		err = file.Truncate(size) // or the next line would stand beside half of one
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	s.file, s.entries = file, entries
	return nil
}

// record writes the execution to disk before it counts.
func (s *Server) record(entry Entry) error {
	entry.Time = s.options.Now().UTC()
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.LogFile != "" {
		if s.file == nil {
			return errClosed
		}
		if _, err := s.file.Write(line); err != nil {
			return err
		}
		if err := s.file.Sync(); err != nil {
			return err
		}
	}
	if s.options.Log != nil {
		if _, err := s.options.Log.Write(line); err != nil {
			return err
		}
		if syncer, ok := s.options.Log.(interface{ Sync() error }); ok {
			if err := syncer.Sync(); err != nil {
				return err
			}
		}
	}
	s.entries = append(s.entries, entry)
	return nil
}

// booking returns the booking, unless it was cancelled or never made.
func (s *Server) booking(id string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range slices.Backward(s.entries) {
		if entry.Booking != id {
			continue
		}
		return entry, entry.Tool == toolBook
	}
	return Entry{}, false
}
