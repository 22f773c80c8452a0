package lint

import (
	"regexp"
	"strings"
)

// composed finds a code by what it is for or how it came, since no list of
// terms holds them all: "code" and "gate", "digits" and "back" of a card.
func composed(sentence string, where place) (string, bool) {
	ws, asked := questionWords(splitWords(joined.Replace(sentence)))
	if where != inLabel && !asked && !anyOf(ws, requests) && (len(ws) == 0 || !anyOf(ws[:min(3, len(ws))], codeWords)) && isASCII(sentence) {
		return "", false
	}
	for i, w := range ws {
		// "no" is also Portuguese for "on the".
		if actions[w] || negations[w] && !(w == "no" && i > 0 && i+1 < len(ws) && (phones[ws[i+1]] || opened[ws[i+1]])) {
			return "", false
		}
	}
	code := -1
	for i, w := range ws {
		if codeWords[withoutParticle(w)] || strings.HasPrefix(w, "코드") {
			code = i
			break
		}
	}
	switch {
	case code >= 0 && code+1 < len(ws) && codeHeads[ws[code+1]]:
		return "", false
	case code > 0 && !anyOf(ws[:code], received) && !leads(headFirst, ws[:code], nil, inLabel):
		return "", false
	case code >= 0 && anyOf(ws, opened):
		return ws[code] + " that opens something", true
	case code >= 0 && (anyOf(ws, received) || anyOf(ws, phones) && anyOf(ws, got)):
		return ws[code] + " that proves who somebody is", true
	case code >= 0 && anyOf(ws, digitWords) && anyOf(ws, phones):
		return ws[code] + " that proves who somebody is", true
	case anyOf(ws, keyWords) && anyOf(ws, unlocking):
		return "key that opens something", true
	case anyOf(ws, digitWords) && anyOf(ws, cardWords) && anyOf(ws, backWords):
		return "digits of a card", true
	}
	if isASCII(sentence) || containsAny(sentence, cjkNegations) {
		return "", false
	}
	for _, c := range cjkCodes {
		_, after, ok := strings.Cut(sentence, c)
		if ok && cjkTail(strings.TrimSpace(after)) && containsAny(sentence, cjkReceived) {
			return c, true
		}
	}
	return "", false
}

var cardTerms = regexp.MustCompile(`card|kart|карт|carte|tarjeta|cartao|carta|kaart|카드|卡`)
