// The element asks for a token before every request; this page's back end mints one.
// It lives ten minutes, so it is kept for nine.
let token = null
let until = 0
document.querySelector('parley-chat').getToken = async () => {
	if (Date.now() < until) return token
	const response = await fetch('/parley-token', { method: 'POST' })
	if (!response.ok) return null
	token = (await response.json()).token
	until = Date.now() + 9 * 60 * 1000
	return token
}
