package form

import (
	"strings"
	"testing"
)

const benchSchema = `{"type":"object","properties":{
	"name":{"type":"string","title":"Name","minLength":1,"maxLength":80},
	"email":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":0,"maximum":150},
	"score":{"type":"number","minimum":0,"maximum":100},
	"when":{"type":"string","format":"date-time"},
	"plan":{"type":"string","enum":["free","pro","team"]},
	"days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"minItems":1},
	"ok":{"type":"boolean"}},"required":["name","email","plan"]}`

const benchAnswer = `{"name":"Ada Lovelace","email":"ada@example.com","age":36,"score":95.5,"when":"2026-03-27T14:30:00Z","plan":"pro","days":["mon","wed"],"ok":true}`

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse([]byte(benchSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s := mustParse(b, benchSchema)
	content := []byte(benchAnswer)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.Check(content); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	s := mustParse(b, benchSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Fill([]byte(benchAnswer), FillRequired); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCoerce(b *testing.B) {
	s := mustParse(b, benchSchema)
	in := s.Entries([]byte(benchAnswer))
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := s.Coerce(in); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkView(b *testing.B) {
	s := mustParse(b, benchSchema)
	b.ReportAllocs()
	for b.Loop() {
		s.View()
	}
}

// A pattern that makes backtracking engines hang for ever.
func BenchmarkHostilePattern(b *testing.B) {
	s := mustParse(b, `{"properties":{"a":{"type":"string","pattern":"^((a+)+)+$"}}}`)
	content := []byte(`{"a":"` + strings.Repeat("a", 4000) + `!"}`)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.Check(content); len(errs) != 1 {
			b.Fatal(errs)
		}
	}
}

// A legal answer is judged with hardly any allocation: a server checks every
// answer it is sent.
func TestCheckAllocations(t *testing.T) {
	s := mustParse(t, benchSchema)
	content := []byte(benchAnswer)
	got := testing.AllocsPerRun(100, func() {
		if errs := s.Check(content); errs != nil {
			t.Fatal(errs)
		}
	})
	if got > 2 {
		t.Errorf("%v allocations, want 2 or fewer", got)
	}
}
