// Package a has each fault that the check finds, beside what it leaves alone.
package a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/elicit"
)

type Bread string

func (Bread) Options() []elicit.Option { return nil }

type Good struct {
	Name    string      `json:"name" title:"Name" description:"As on the ticket"`
	Mail    string      `json:"mail" title:"E-mail" elicit:"format=email"`
	Bags    int         `json:"bags" title:"Bags" elicit:"min=0,max=3,default=1"`
	Aisle   *bool       `json:"aisle" title:"Aisle seat"`
	When    time.Time   `json:"when" title:"When"`
	Amount  json.Number `json:"amount" title:"Amount"`
	Bread   Bread       `json:"bread" title:"Bread" elicit:"default=rye"`
	Days    []string    `json:"days" title:"Days" elicit:"options=mon:Monday|tue:Tuesday,min=1,max=2"`
	Flight  string      `json:"flight" title:"Flight"`
	Token   string      `json:"token" title:"Token to play with" elicit:"notsecret"`
	Account uint8       `json:"account_id" title:"Account"`
	hidden  map[string]int
	Skipped map[string]int `elicit:"-"`
	Also    map[string]int `json:"-"`
}

type Bad struct {
	Password string          `json:"password" title:"Password"`                                      // want `secret-in-form`
	Seats    int             `json:"seats" title:"Seats" elicit:"min=5,max=2"`                       // want `bounds-inverted`
	Size     string          `json:"size" title:"Size" elicit:"options=s:Small|m:Medium,default=xl"` // want `default-not-an-option`
	Terms    bool            `json:"terms" title:"I agree to the terms" elicit:"default=true"`       // want `prechecked-consent`
	Nested   struct{ X int } `json:"nested"`                                                         // want `form-type`
	Map      map[string]int  `json:"map"`                                                            // want `form-type`
	Colour   string          `json:"colour" elicit:"format=colour"`                                  // want `form-tag`
	Odd      string          `json:"odd" elicit:"sometimes"`                                         // want `form-tag`
	Size2    string          `json:"size"`                                                           // want `form-tag`
	Good                     // want `form-type`
}

type Door struct {
	Code string `json:"door_code" title:"Code of the door"` // want `secret-in-form`
}

func questions(ctx context.Context, call *elicit.Call, flights []string) error {
	if _, err := elicit.Ask[Good](ctx, call, "good", "Where to?", elicit.Choices("flight", flights, option)); err != nil {
		return err
	}
	if _, err := elicit.Ask[Bad](ctx, call, "bad", "Where to?"); err != nil {
		return err
	}
	if _, err := elicit.Ask[string](ctx, call, "text", "Where to?"); err != nil {
		return err
	}
	if _, err := elicit.Ask[[]int](ctx, call, "rows", "Which rows?"); err != nil { // want `form-type`
		return err
	}
	if _, err := elicit.Ask[string](ctx, call, "password", "What is it?"); err != nil { // want `secret-in-form`
		return err
	}
	if _, err := elicit.Ask[[]string](ctx, call, "flights", "Which flights?", elicit.Choices("flights", flights, option)); err != nil {
		return err
	}
	door := elicit.NewQuestion[Door]("door", "Which code?")
	return elicit.AskAll(ctx, call, door)
}

func option(s string) elicit.Option { return elicit.Option{Value: s} }

type Small struct {
	Note string `json:"note" title:"Note" description:"What the kitchen should know"`
}

func generic[T any](ctx context.Context, call *elicit.Call) (T, error) {
	return elicit.Ask[T](ctx, call, "any", "What?")
}

func dropsAll(ctx context.Context, call *elicit.Call) (string, error) {
	elicit.AskAll(ctx, call)                                 // want `swallowed-error`
	note, _ := elicit.Ask[Small](ctx, call, "note", "Note?") // want `swallowed-error`
	_, err := elicit.Confirm(ctx, call, "go", "Go?")         // want `consent-ignored`
	if err != nil {
		return "", err
	}
	go elicit.AskAll(ctx, call) // want `swallowed-error`
	return note.Note, nil
}

func looksAndDrops(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?") // want `swallowed-error`
	if err != nil {
		return "nothing", nil
	}
	return note.Note, nil
}

func fallsThrough(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?") // want `swallowed-error`
	if err != nil {
		note.Note = "nothing"
	}
	return note.Note, nil
}

func onlyIfNil(ctx context.Context, call *elicit.Call) string {
	if note, err := elicit.Ask[Small](ctx, call, "note", "Note?"); err == nil { // want `swallowed-error`
		return note.Note
	}
	return ""
}

func memoDropped(ctx context.Context, call *elicit.Call) int {
	n, _ := elicit.Memo(ctx, call, "n", time.Hour, func(context.Context) (int, error) { return 1, nil }) // want `swallowed-error`
	return n
}

func visitDropped(ctx context.Context, call *elicit.Call) {
	elicit.Visit(ctx, call, "pay", "Pay", "https://pay.example/", nil) // want `swallowed-error`
}

// What follows is all right.

func returned(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?")
	if err != nil {
		return "", fmt.Errorf("note: %w", err)
	}
	consent, err := elicit.Confirm(ctx, call, "go", "Go?")
	if err != nil {
		return "", err
	}
	if consent != elicit.Yes {
		return "kept", nil
	}
	return note.Note, nil
}

var errDeclined = errors.New("declined")

func judged(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?")
	if errors.Is(err, errDeclined) {
		return "no note", nil
	}
	if err != nil {
		return "", err
	}
	return note.Note, nil
}

func otherError(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?")
	if err != nil {
		return "", errors.New("there is no note")
	}
	return note.Note, nil
}

func ifNilThenReturned(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?")
	if err == nil {
		return note.Note, nil
	}
	return "", err
}

func leftToTheEnd(ctx context.Context, call *elicit.Call) (string, error) {
	note, err := elicit.Ask[Small](ctx, call, "note", "Note?")
	if err != nil {
		note.Note = "nothing"
	}
	return note.Note, err
}

func chosen(ctx context.Context, call *elicit.Call, all []string) (string, error) {
	return elicit.Choose(ctx, call, "one", "Which one?", all, option)
}

type kept struct{ err error }

func inAField(ctx context.Context, call *elicit.Call, k *kept) {
	_, k.err = elicit.Ask[Small](ctx, call, "note", "Note?")
}
