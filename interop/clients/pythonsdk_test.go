package clients

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A pythonServer answers on the wire as a server on the python-sdk does, which
// is not run here: what is in it was read in modelcontextprotocol/python-sdk at
// 57394b0 (21 commits after v2.0.0), in src/mcp/server: request_state.py,
// _streamable_http_modern.py and runner.py.
//
//   - States are sealed by default, with a key that dies with the process and for
//     600 s. They are "v1." and base64url of four bytes that name the key, a nonce
//     of twelve, and AES-256-GCM over JSON: when it was made and until when it is
//     good, method, name and digest of the arguments, and the server's name.
//   - Whatever is wrong with one, the answer is the same, and with HTTP status 400.
//   - Results carry the server's name in _meta.
//   - GET is refused with 405: there is no stream outside requests.
//
// The legacy half of the SDK is not here: the host finds the modern one first.
type pythonServer struct {
	aead cipher.AEAD
	name []byte // of the key
	life time.Duration
}

const pythonInfo = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"desk","version":"2.0.0"}}`

func newPythonServer(key [32]byte, life time.Duration) (*pythonServer, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	name := sha256.Sum256(key[:])
	return &pythonServer{aead: aead, name: name[:4], life: life}, err
}

// pythonService has a key that outlives the process, as deployments give it.
func pythonService(t *testing.T) *standing {
	t.Helper()
	var key [32]byte
	const standard = 600 * time.Second
	life := standard
	at := newGoService(t, func() http.Handler {
		server, err := newPythonServer(key, life)
		if err != nil {
			t.Fatal(err)
		}
		return server
	})
	at.rekey = func() {
		key[0]++
		at.restart()
	}
	at.age = func(old bool) {
		if life = standard; old {
			life = 0
		}
		at.restart()
	}
	return at
}

type pythonClaims struct {
	Version   int     `json:"v"`
	Issued    float64 `json:"iat"`
	Expires   float64 `json:"exp"`
	Method    string  `json:"m"`
	Name      string  `json:"t"`
	Arguments string  `json:"a"`
	State     string  `json:"s"`
	Audience  string  `json:"aud"`
}

func (s *pythonServer) seal(c pythonClaims) string {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	token := append(append([]byte{}, s.name...), nonce...)
	token = s.aead.Seal(token, nonce, asJSON(c), append([]byte("v1."), s.name...))
	return "v1." + base64.RawURLEncoding.EncodeToString(token)
}

func (s *pythonServer) unseal(token string) (c pythonClaims, ok bool) {
	text, found := strings.CutPrefix(token, "v1.")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	header := len(s.name) + s.aead.NonceSize()
	if !found || err != nil || len(raw) < header || string(raw[:len(s.name)]) != string(s.name) {
		return c, false
	}
	plain, err := s.aead.Open(nil, raw[len(s.name):header], raw[header:], append([]byte("v1."), s.name...))
	return c, err == nil && json.Unmarshal(plain, &c) == nil
}

func (s *pythonServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string                     `json:"name"`
			Arguments json.RawMessage            `json:"arguments"`
			Responses map[string]json.RawMessage `json:"inputResponses"`
			State     *string                    `json:"requestState"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		s.write(w, http.StatusBadRequest, "null", `"error":{"code":-32700,"message":"Parse error"}`)
		return
	}
	id := string(m.ID)
	switch {
	case id == "":
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "server/discover":
		s.result(w, id, `"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},`+
			`"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","resultType":"complete"`)
		return
	case m.Method == "tools/list":
		s.result(w, id, `"tools":[{"name":"ask","description":"Asks.","inputSchema":{"type":"object","properties":{"rounds":{"type":"array","items":{}}},`+
			`"required":["rounds"],"title":"askArguments"}}],"ttlMs":0,"cacheScope":"private","resultType":"complete"`)
		return
	case m.Method != "tools/call":
		s.write(w, http.StatusNotFound, id, `"error":{"code":-32601,"message":"Method not found"}`)
		return
	}

	now := float64(time.Now().UnixNano()) / 1e9
	digest := sha256.Sum256(m.Params.Arguments)
	claims := pythonClaims{
		Version: 1, Issued: now, Expires: now + s.life.Seconds(), Method: m.Method, Name: m.Params.Name,
		Arguments: base64.RawURLEncoding.EncodeToString(digest[:16]), Audience: "desk",
	}
	state := ""
	if m.Params.State != nil {
		was, ok := s.unseal(*m.Params.State)
		state = was.State
		if !ok || now >= was.Expires || was.Method != claims.Method || was.Name != claims.Name || was.Arguments != claims.Arguments || was.Audience != claims.Audience {
			s.write(w, http.StatusBadRequest, id,
				`"error":{"code":-32602,"message":"Invalid or expired requestState","data":{"reason":"invalid_request_state"}}`)
			return
		}
	}
	var in inquiry
	if err := json.Unmarshal(m.Params.Arguments, &in); err != nil {
		s.failed(w, id, err)
		return
	}
	next, state, end, err := in.step(state, func(key string) (string, any, bool) {
		var answer struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		}
		ok := json.Unmarshal(m.Params.Responses[key], &answer) == nil
		if answer.Content == nil {
			return answer.Action, nil, ok
		}
		return answer.Action, answer.Content, ok
	})
	switch {
	case err != nil:
		s.failed(w, id, err)
	case next == nil:
		s.result(w, id, fmt.Sprintf(`"content":[{"type":"text","text":%s}],"structuredContent":%s,"isError":false,"resultType":"complete"`, asJSON(end), end))
	default:
		requests := map[string]any{}
		for _, q := range next {
			delete(q.Params, "elicitationId") // 2026-07-28 has none
			requests[q.Key] = map[string]any{"method": "elicitation/create", "params": q.Params}
		}
		claims.State = state
		s.result(w, id, fmt.Sprintf(`"inputRequests":%s,"requestState":%q,"resultType":"input_required"`, asJSON(requests), s.seal(claims)))
	}
}

// failed is what the SDK makes of an exception in a tool.
func (s *pythonServer) failed(w http.ResponseWriter, id string, err error) {
	s.result(w, id, fmt.Sprintf(`"content":[{"type":"text","text":%s}],"isError":true,"resultType":"complete"`, asJSON("Error executing tool ask: "+err.Error())))
}

func (s *pythonServer) result(w http.ResponseWriter, id, members string) {
	s.write(w, http.StatusOK, id, `"result":{`+pythonInfo+`,`+members+`}`)
}

func (s *pythonServer) write(w http.ResponseWriter, status int, id, member string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, member)
}
