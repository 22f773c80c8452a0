package fakeprovider

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Fault is one way to misbehave, for one request. The zero fields do nothing,
// so faults combine: {Delay: ..., Drop: AfterCommit}.
type Fault struct {
	Delay time.Duration `json:"delay,omitempty"` // before anything is done
	// Drop closes the connection instead of answering.
	Drop Drop `json:"drop,omitempty"`

	// Status answers with it instead of what was asked. Commit says whether the
	// request is carried out before.
	Status int  `json:"status,omitempty"`
	Commit bool `json:"commit,omitempty"`
	// Header and Body are those of the answer with Status; in the body
	// {secrets} stands for the values of the request's form.
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`

	// Shape is another form of the true answer.
	Shape Shape `json:"shape,omitempty"`
}

// Drop says when a connection is closed.
type Drop string

// The three moments.
const (
	BeforeCommit Drop = "before_commit" // the request had no effect
	AfterCommit  Drop = "after_commit"  // it had one, and no byte of the answer came
	InAnswer     Drop = "in_answer"     // half of the body came
)

// Shape is a way to write an answer down.
type Shape string

// What providers send, and what only an attacker does.
const (
	AsText       Shape = "text"          // JSON as text/plain
	AsForm       Shape = "form"          // a form
	ExpiryText   Shape = "expiry_text"   // "3600"
	ExpiryReal   Shape = "expiry_real"   // 3600.0
	ExpiryNull   Shape = "expiry_null"   // null
	ExpiryNone   Shape = "expiry_none"   // missing
	ExpiryObject Shape = "expiry_object" // {}
	ErrorIn200   Shape = "error_in_200"  // {"error":"invalid_grant"} with status 200
	ErrorObject  Shape = "error_object"  // {"error":{"type":...}} with status 400
	TokenNumber  Shape = "token_number"  // access_token is a number
	TokenNone    Shape = "token_none"    // no access_token
	Huge         Shape = "huge"          // two mebibytes of it
	Bomb         Shape = "bomb"          // a gibibyte, compressed
	Gzip         Shape = "gzip"          // compressed unasked
	Deep         Shape = "deep"          // nested deeply
	Drip         Shape = "drip"          // a byte now and then, without end
	NotHTTP      Shape = "not_http"      // the secrets of the request in the place of a status line
	OmitRefresh  Shape = "omit_refresh"  // no refresh_token
)

// Misbehave adds a fault for the next request to the endpoint (metadata,
// register, authorize, token, revoke) that has none yet.
func (s *Server) Misbehave(endpoint string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[endpoint] = append(s.faults[endpoint], faults...)
}

func (s *Server) controlMisbehave(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Endpoint string
		Fault    Fault
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil { //nolint:musttag // a test's own request
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Misbehave(in.Endpoint, in.Fault)
	w.WriteHeader(http.StatusNoContent)
}

// endpoint wraps a handler: it takes the next fault of its name.
func (s *Server) endpoint(name string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		var f Fault
		if queue := s.faults[name]; len(queue) > 0 {
			f, s.faults[name] = queue[0], queue[1:]
		}
		s.mu.Unlock()
		if name == "token" || name == "revoke" {
			// Once the body is read, net/http notices that a client has gone.
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			if err := r.ParseForm(); err != nil {
				s.fail(w, http.StatusBadRequest, "invalid_request")
				return
			}
		}
		s.serve(w, r, h, f)
		if name == "token" && s.options.Answered != nil {
			_ = http.NewResponseController(w).Flush() // a closed one has nothing to flush
			s.options.Answered(r)
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, h http.HandlerFunc, f Fault) {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return
		}
	}
	if f.Drop == BeforeCommit {
		cut(w, "")
	}
	answer := httptest.NewRecorder()
	if f.Status == 0 || f.Commit || f.Drop != "" {
		h(answer, r)
	}
	body := answer.Body.Bytes()
	switch {
	case f.Drop == AfterCommit:
		cut(w, "")
	case f.Drop == InAnswer:
		cut(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2]))
	case f.Status != 0:
		for name, value := range f.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, strings.ReplaceAll(f.Body, "{secrets}", secrets(r)))
	default:
		maps.Copy(w.Header(), answer.Header())
		shape(w, r, f.Shape, answer.Code, body)
	}
}

// cut writes raw bytes and closes the connection.
func cut(w http.ResponseWriter, raw string) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is cut
	}
	_, _ = buffered.WriteString(raw)
	_ = buffered.Flush()
	_ = conn.Close()
	panic(http.ErrAbortHandler) // the handler ends here
}

// secrets are what the request held.
func secrets(r *http.Request) string {
	var all []string
	for _, values := range r.PostForm {
		all = append(all, values...)
	}
	_, secret, _ := r.BasicAuth()
	return strings.Join(append(all, secret), " ")
}

func shape(w http.ResponseWriter, r *http.Request, how Shape, status int, body []byte) {
	var fields map[string]any
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber() // 3600 stays 3600
	if how != "" && numbers.Decode(&fields) != nil {
		fields = map[string]any{}
	}
	switch how {
	case "":
		w.Header().Set("Content-Length", strconv.Itoa(len(body))) // so that a flush is all of it
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	case AsText:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	case AsForm:
		form := url.Values{}
		for name, value := range fields {
			form.Set(name, fmt.Sprint(value))
		}
		w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, form.Encode())
		return
	case ExpiryText:
		fields["expires_in"] = fmt.Sprint(fields["expires_in"])
	case ExpiryReal:
		w.WriteHeader(status)
		text := fmt.Sprintf(`"expires_in":%v`, fields["expires_in"])
		_, _ = w.Write(bytes.Replace(body, []byte(text), []byte(text+".0"), 1))
		return
	case ExpiryNull:
		fields["expires_in"] = nil
	case ExpiryNone:
		delete(fields, "expires_in")
	case ExpiryObject:
		fields["expires_in"] = map[string]any{"seconds": fields["expires_in"]}
	case ErrorIn200:
		status, fields = http.StatusOK, map[string]any{"error": "invalid_grant", "error_description": secrets(r)}
	case ErrorObject:
		status, fields = http.StatusBadRequest, map[string]any{"error": map[string]any{"message": secrets(r), "type": "OAuthException", "code": 190}}
	case TokenNumber:
		fields["access_token"] = 42
	case TokenNone:
		delete(fields, "access_token")
	case OmitRefresh:
		delete(fields, "refresh_token")
	case Huge:
		fields["padding"] = strings.Repeat("x", 2<<20)
	case Deep:
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"a":`+strings.Repeat("[", 400_000)+strings.Repeat("]", 400_000)+`,`+string(body[1:]))
		return
	case Gzip:
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := gzip.NewWriter(w)
		_, _ = z.Write(body)
		_ = z.Close()
		return
	case Bomb:
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := gzip.NewWriter(w)
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range 1 << 10 {
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
		_ = z.Close()
		return
	case Drip:
		w.Header().Set("Content-Length", strconv.Itoa(1<<16))
		w.WriteHeader(status)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(20 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		return
	case NotHTTP:
		cut(w, secrets(r)+"\r\n\r\n")
	}
	writeJSON(w, status, fields)
}
