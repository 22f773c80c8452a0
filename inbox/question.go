package inbox

import (
	"encoding/json"
	"time"
)

// QuestionID names a question: "q_" and 128 random bits. Knowing it grants nothing.
type QuestionID string

// Mode is how a question is answered.
type Mode string

const (
	Form Mode = "form" // by filling in fields
	URL  Mode = "url"  // by going to an address
)

// QuestionState is a state of a question. The package documentation has the diagram.
type QuestionState string

const (
	Open      QuestionState = "open"
	Opened    QuestionState = "opened" // url: the person agreed to go to exactly this address
	Accepted  QuestionState = "accepted"
	Declined  QuestionState = "declined"
	Cancelled QuestionState = "cancelled"
	Expired   QuestionState = "expired"   // in the record; on the wire it counts as cancel
	Withdrawn QuestionState = "withdrawn" // by the server, or by the end of its call
)

// Closed reports whether nobody can answer any more.
func (s QuestionState) Closed() bool { return s != Open && s != Opened }

// Action is the protocol's word for what a person did.
type Action string

const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// Closer says what closed a question.
type Closer string

const (
	ByPerson      Closer = "person"       // an answer
	ByExpiry      Closer = "expiry"       // its time passed
	ByServer      Closer = "server"       // the server withdrew it, or says that the person is done there
	ByStop        Closer = "stop"         // the person stopped the call
	ByCallEnd     Closer = "call_ended"   // the call ended in another way
	ByPolicy      Closer = "policy"       // the policy ended the call, or its person was disabled
	ByHostStopped Closer = "host_stopped" // the machine that held the connection went away
)

// Delivery says how far the answer to a held question got.
type Delivery string

const (
	Undelivered Delivery = ""
	Marked      Delivery = "marked"    // committed before the first byte of the answer
	Delivered   Delivery = "delivered" // the answer was written
	Dropped     Delivery = "dropped"   // the question was withdrawn, or the connection lost, before the answer left
)

// Question is one elicitation request, from one server, in one call, to one
// person. Questions that an Inbox returns are copies.
type Question struct {
	ID           QuestionID
	Seq          int64 // the number of its first event: later questions of a principal have higher ones
	Call         CallID
	Principal    Principal
	Conversation string
	Server       string

	Key      string // the wire key (modern); opaque
	Digest   string // of the canonical params without _meta
	Mode     Mode
	Message  string          // as it came; sanitise before drawing
	Params   json.RawMessage // the raw params, bytes as they came
	URL      string          // url mode
	Round    int
	Position int  // order in its round, from 0
	Asked    int  // url: how often the server has asked for this address or a fresh one
	Held     bool // asked on an open connection (legacy): answered alone, see Delivery

	State     QuestionState
	Answer    *Answer
	ClosedBy  Closer
	Delivery  Delivery        // of a held question
	Completed time.Time       // url: when the server first said that the person is done there; zero: it did not
	Suggested json.RawMessage // content of an earlier answer, filled in and marked as such; never sent by itself
	Note      string          // what the host says of it, and why it is here again, in plain sentences
	Removed   bool            // the retention of its call has passed: what was asked and answered is gone

	Unreadable bool // what was sealed does not open, or the row is damaged: see [ErrUnreadable]

	Version   int64
	Created   time.Time
	ExpiresAt time.Time
	Closed    time.Time
}

// Answer is what the person did with a question.
type Answer struct {
	Action  Action
	Content json.RawMessage // accept in form mode; exact JSON
	At      time.Time       // set by the inbox
	By      Principal       // set by the inbox

	Via       string // surface: chat, inbox, api, terminal
	Assurance string // how sure the surface is of the person: "signed-in page", "terminal", "reported by a client"

	// Key makes answering idempotent: the same key with the same answer gives
	// the same result again. It is not stored with the answer.
	Key string `json:"-"`
}

// NewQuestion is what a host knows of a question that a server asks.
type NewQuestion struct {
	Key       string          // the wire key; empty in the legacy era
	Params    json.RawMessage // the raw params of the request
	Note      string          // what the card says of it besides, one plain sentence
	ExpiresAt time.Time       // legacy: from _meta; zero = default
}
