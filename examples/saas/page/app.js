// The element asks for a token before every request; this page's back end mints one.
// It lives ten minutes, so it is kept for nine. Null says that nobody is signed in here;
// where the back end could not answer, the element tries again.
let token = null
let until = 0
document.querySelector('parley-chat').getToken = async () => {
	if (Date.now() < until) return token
	const response = await fetch('/parley-token', { method: 'POST' })
	if (response.status === 401) return null
	if (!response.ok) throw new Error('no token at the moment')
	token = (await response.json()).token
	until = Date.now() + 9 * 60 * 1000
	return token
}
