package inbox

// flush stores each row that changed, once, with one event and one hint.
func (w *work) flush() error {
	for _, record := range w.touched {
		switch r := record.(type) {
		case *callRecord:
			if err := w.flushCall(r); err != nil {
				return err
			}
		case *questionRecord:
			if err := w.flushQuestion(r); err != nil {
				return err
			}
		case *approvalRecord:
			if err := w.flushApproval(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) flushCall(c *callRecord) error {
	if c.dirty == seen {
		seq, err := w.event(CallEvent, string(c.ID))
		if err != nil {
			return err
		}
		if c.Seq == 0 {
			c.Seq = seq
		}
		c.Version++
		c.Updated = w.now
		w.hints = append(w.hints, Hint{
			Principal: w.key, Call: c.ID, Ready: c.State == Ready, Removed: c.State == Blocked && c.Reason == ReasonServerRemoved,
		})
	}
	row, err := w.callRow(c)
	if err != nil {
		return err
	}
	c.dirty = clean
	return w.tx.PutCall(row)
}

func (w *work) flushQuestion(q *questionRecord) error {
	if q.dirty == seen {
		seq, err := w.event(QuestionEvent, string(q.ID))
		if err != nil {
			return err
		}
		if q.Seq == 0 {
			q.Seq = seq
		}
		q.Version++
		w.hints = append(w.hints, Hint{Principal: w.key, Call: q.Call, Question: q.ID})
	}
	row, err := w.questionRow(q)
	if err != nil {
		return err
	}
	q.dirty = clean
	return w.tx.PutQuestion(row)
}

// event appends an event and now and then drops the oldest.
func (w *work) event(kind EventKind, id string) (int64, error) {
	seq, err := w.tx.Append(kind, id)
	if err != nil {
		return 0, err
	}
	if keep := int64(w.in.options.Events); seq > keep && seq%64 == 0 {
		return seq, w.tx.TrimEvents(seq - keep + 1)
	}
	return seq, nil
}

// call returns a call that can be read; anyCall also one that cannot, for what only
// moves its state.
