// The page of `parley serve`: header, conversations, servers, and in the middle
// a conversation, the inbox, a single card, the permissions or the trail.

import { bdi, el, fill, keepFocus, randomId, shadow, type Child } from '../lib/dom'
import { Store } from '../lib/store'
import { rich, t, when, type Key } from '../lib/text'
import type { Conversation, Server } from '../lib/wire'
import { ParleyChat } from '../chat/chat'
import { ParleyInbox, waitingWords } from '../chat/inbox'
import { Item } from '../chat/item'
import { SignInCard } from '../card/signin'
import { SignOut } from '../card/signout'
import { canNotify, notifies, notify, setNotifies } from './notify'
import { Permissions } from './permissions'
import { byCookie, exchange, keepToken, leave, onToken, takeFragment, takePlace, token } from './token'
import { Trail } from './trail'
import base from '../lib/base.css'
import items from '../chat/item.css'
import css from './app.css'

type Place = { kind: 'chat'; conversation: string } | { kind: 'inbox' } | { kind: 'permissions' } | { kind: 'trail' } | { kind: 'question'; id: string } | { kind: 'approval'; id: string }

const recent = 8 // conversations in sight; older ones open on demand

export class ParleyApp extends HTMLElement {
	readonly #root = shadow(this, base, items, css)
	readonly #store = new Store('', token)
	readonly #banner = el('div', { class: 'banner', hidden: true, 'data-part': 'connection' })
	readonly #inboxLink = el('a', { class: 'waiting', href: '?view=inbox', id: 'inbox-link', 'data-part': 'inbox-count' })
	readonly #who = el('span', { class: 'quiet who', 'data-part': 'who' })
	// A form: the host answers with a page of its own, and the cookie is gone.
	readonly #signOut = el('form', { method: 'post', action: '/sign-out', hidden: true }, el('button', { type: 'submit', class: 'link', id: 'sign-out', 'data-action': 'sign-out' }, t('page.sign-out')))
	readonly #menu = el('button', { type: 'button', class: 'menu', id: 'menu', 'aria-expanded': 'false', 'aria-controls': 'side' })
	readonly #main = el('main', { id: 'main', tabIndex: -1 })
	readonly #conversationList = el('nav', { 'aria-labelledby': 'conversations' })
	readonly #serverList = el('section', { 'aria-labelledby': 'servers' })
	readonly #more = el('nav', { 'aria-labelledby': 'more', class: 'more' })
	readonly #side = el('aside', { id: 'side', 'aria-label': t('page.side') })
	readonly #columns = el('div', { class: 'columns' }, this.#side, this.#main)
	#place: Place = { kind: 'inbox' }
	#shown = ''
	#leaveView: () => void = () => undefined
	#problem = ''
	#cookie: boolean | null = null // not known yet
	#notifyDenied = false
	readonly #failed = new Set<EventTarget>() // the forms that show errors
	readonly #signIns = new Map<string, SignInCard>()
	readonly #signOuts = new Map<string, SignOut>()
	readonly #shapes = new Map<HTMLElement, string>()

	connectedCallback(): void {
		fill(this.#root,
			el('header', null,
				el('button', { type: 'button', class: 'skip', on: { click: () => this.#main.focus() } }, t('page.skip')),
				el('a', { class: 'brand', href: '?', id: 'brand', on: { click: (event) => this.#follow(event, '?') } }, el('span', { class: 'logo', 'aria-hidden': 'true' }), t('product')),
				el('span', { class: 'space' }), this.#who, this.#signOut, this.#inboxLink, this.#menu),
			this.#banner,
			this.#columns)
		fill(this.#side, el('a', { class: 'button', href: '?', id: 'new-conversation', 'data-action': 'new-conversation', on: { click: (event) => this.#follow(event, '?') } }, t('page.new')),
			this.#conversationList, this.#more, this.#serverList)
		this.#menu.textContent = t('page.menu')
		this.#menu.addEventListener('click', () => this.#toggle(this.#menu.getAttribute('aria-expanded') !== 'true'))
		this.#inboxLink.addEventListener('click', (event) => this.#follow(event, '?view=inbox'))
		this.addEventListener('parley-show', (event) => {
			const { conversation, call } = (event as CustomEvent<{ conversation: string; call: string }>).detail
			this.#go(`?c=${encodeURIComponent(conversation)}`)
			this.#whenShown(conversation, call)
		})
		this.addEventListener('parley-problem', (event) => {
			const form = event.composedPath()[0]
			if (!form) return
			if ((event as CustomEvent<{ shown: boolean }>).detail.shown) this.#failed.add(form)
			else this.#failed.delete(form)
			this.#render()
		})
		this.addEventListener('parley-token-expired', () => this.#expired())
		this.#store.subscribe((change) => {
			if (change.kind === 'connection' && this.#store.connection === 'signed-out') this.#expired()
			this.#render()
		})
		notify(this.#store, (what, id) => this.#go(`?${what === 'question' ? 'q' : 'a'}=${encodeURIComponent(id)}`))
		// A sign-in to a server ends in another tab.
		window.addEventListener('focus', () => {
			if (this.#store.servers.some((server) => server.sign_in === 'needed' && server.can_sign_in)) void this.#store.loadServers().catch(() => undefined)
		})
		window.addEventListener('popstate', () => this.#route())
		window.addEventListener('hashchange', () => void this.#signIn())
		onToken(() => this.#begin())
		void this.#signIn()
	}

	async #signIn(): Promise<void> {
		const once = takeFragment()
		this.#locate() // before anything is waited for: a browser fetches the icon again after each change of the address
		if (once !== null) {
			const problem = await exchange(once)
			// An address used twice is no trouble for who is signed in already.
			this.#problem = token() === null ? problem : ''
		}
		if (token() === null && this.#cookie === null) {
			try {
				const session = await byCookie(this.#store.api)
				this.#cookie = session !== null
				this.#store.session ??= session
			} catch {
				this.#cookie = true // for all that is known: the stream asks until there is an answer
			}
		}
		// Before anything is drawn: elements open the stream when they appear.
		if (!this.#signedIn) this.#store.connection = 'signed-out'
		this.#route()
		this.#begin()
	}

	get #signedIn(): boolean {
		return token() !== null || this.#cookie === true
	}

	// Who signed in elsewhere does so again, and comes back to this place. What was
	// typed is kept as a draft.
	#expired(): void {
		if (token() === null && this.#store.session?.sign_out) leave()
	}

	#begin(): void {
		if (!this.#signedIn) this.#store.connection = 'signed-out'
		else {
			if (this.#store.connection === 'signed-out') this.#store.connection = 'connecting'
			this.#store.start()
		}
		this.#render()
	}

	// ---- where we are

	#route(): void {
		this.#locate()
		this.#render()
	}

	#locate(): void {
		takePlace()
		const query = new URLSearchParams(location.search)
		const question = query.get('q')
		const approval = query.get('a')
		const view = query.get('view')
		if (question) this.#place = { kind: 'question', id: question }
		else if (approval) this.#place = { kind: 'approval', id: approval }
		else if (view === 'inbox' || view === 'permissions' || view === 'trail') this.#place = { kind: view }
		else {
			let conversation = query.get('c') ?? ''
			if (!named(conversation)) {
				conversation = `v_${randomId(16)}`
				history.replaceState(null, '', `?c=${conversation}`)
			}
			this.#place = { kind: 'chat', conversation }
		}
	}

	#go(search: string): void {
		history.pushState(null, '', search)
		this.#toggle(false)
		this.#route()
		this.#main.focus({ preventScroll: true })
		window.scrollTo(0, 0)
	}

	#follow(event: MouseEvent, search: string): void {
		if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
		event.preventDefault()
		this.#go(search)
	}

	#whenShown(conversation: string, call: string): void {
		const show = (): boolean => {
			const chat = this.#main.querySelector('parley-chat')
			if (!(chat instanceof ParleyChat) || chat.conversationId !== conversation) return true
			if (!this.#store.call(call)) return false
			chat.show(call)
			return true
		}
		if (show()) return
		const leave = this.#store.subscribe(() => { if (show()) leave() })
	}

	#toggle(open: boolean): void {
		this.#menu.setAttribute('aria-expanded', String(open))
		this.#side.classList.toggle('open', open)
	}

	// ---- drawing

	#render(): void {
		const store = this.#store
		const disabled = store.connection === 'disabled'
		const out = store.connection === 'signed-out' || disabled
		const { n: waiting, words } = waitingWords(store)
		this.#inboxLink.textContent = words
		this.#inboxLink.hidden = out || !store.loaded
		this.#inboxLink.classList.toggle('some', waiting > 0)
		if (this.#place.kind === 'inbox') this.#inboxLink.setAttribute('aria-current', 'page')
		else this.#inboxLink.removeAttribute('aria-current')
		// Whoever was signed in as somebody else, by another site, can see it here.
		fill(this.#who, store.session && (store.loaded && !out || disabled) ? rich('page.who', { name: store.session.name || store.session.principal.subject }) : null)
		this.#signOut.hidden = !store.session?.sign_out || out && !disabled
		this.#menu.hidden = out
		this.#side.hidden = out
		this.#banner.hidden = store.connection !== 'lost'
		if (!this.#banner.hidden && this.#banner.textContent === '') this.#banner.textContent = t('connection.lost')
		this.#showMain(out)
		document.title = `${this.#failed.size > 0 ? `${t('field.error')} ` : ''}${waiting > 0 ? `${words} – ` : ''}${t('product')}`
		this.#columns.classList.toggle('alone', out)
		keepFocus(this.#root, () => {
			const current = this.#place.kind === 'chat' ? this.#place.conversation : ''
			this.#redraw(this.#conversationList, [store.conversations, current, store.loaded], () => this.#conversations(store.conversations, current))
			this.#redraw(this.#serverList, [store.servers, store.loaded], () => this.#servers(store.servers))
			this.#redraw(this.#more, [this.#place.kind, notifies(), this.#notifyDenied], () => this.#moreLinks())
		})
	}

	#redraw(node: HTMLElement, from: unknown, draw: () => Child): void {
		const shape = JSON.stringify(from)
		if (this.#shapes.get(node) === shape) return
		this.#shapes.set(node, shape)
		const open = new Set([...node.querySelectorAll('details[open]')].map((one) => one.id))
		fill(node, draw())
		for (const one of node.querySelectorAll('details')) one.open ||= open.has(one.id)
	}

	#showMain(out: boolean): void {
		const key = out ? `${this.#store.connection} ${this.#problem}` : JSON.stringify(this.#place)
		if (key === this.#shown) return
		this.#shown = key
		this.#failed.clear()
		this.#leaveView()
		this.#leaveView = () => undefined
		fill(this.#main, !out ? this.#element() : this.#store.connection === 'disabled' ? this.#disabled() : this.#signedOut())
	}

	#disabled(): Child {
		return el('section', { class: 'signed-out', 'data-part': 'disabled' }, el('h1', null, t('disabled.title')), el('p', null, t('disabled.text')))
	}

	// What a view of this page holds, for as long as it is in the middle.
	#open(view: Permissions | Trail): HTMLElement {
		this.#leaveView = view.open()
		return view.node
	}

	#element(): HTMLElement {
		const place = this.#place
		if (place.kind === 'chat') {
			const chat = new ParleyChat()
			chat.store = this.#store
			chat.setAttribute('conversation-id', place.conversation)
			return chat
		}
		if (place.kind === 'inbox') {
			const inbox = new ParleyInbox()
			inbox.store = this.#store
			return inbox
		}
		if (place.kind === 'trail') return this.#open(new Trail(this.#store))
		if (place.kind === 'permissions') {
			return this.#open(new Permissions(this.#store, this.#root, (row) => {
				this.#go(`?c=${encodeURIComponent(row.conversation)}`)
				this.#whenShown(row.conversation, row.call)
			}))
		}
		const item = new Item(this.#store, place.kind, place.id)
		this.#leaveView = this.#store.subscribe(() => item.update())
		return el('div', null, el('h1', { class: 'away' }, t(place.kind === 'approval' ? 'approval.kind' : 'question.title')), item.node)
	}

	#signedOut(): Child {
		return el('section', { class: 'signed-out', 'data-part': 'signed-out' },
			el('h1', null, t('signin.title')),
			this.#problem ? el('p', { class: 'notice bad', role: 'alert' }, this.#problem) : token() !== null ? el('p', { class: 'notice' }, t('signin.refused')) : null,
			el('p', null, t('signin.text')),
			el('pre', null, 'parley serve'),
			el('p', null, t('signin.running')),
			el('pre', null, 'parley address'),
			el('p', null, t('signin.address'), ' ', el('code', { dir: 'ltr' }, `${location.origin}/#token=…`)),
			el('p', { class: 'hint' }, t('signin.once')),
			token() === null ? null : el('div', { class: 'actions' }, el('button', {
				type: 'button', 'data-action': 'forget', on: {
					click: () => {
						keepToken(null)
						this.#shown = ''
						this.#begin()
					},
				},
			}, t('signin.forget'))))
	}

	#conversations(all: readonly Conversation[], current: string): Child {
		const list = (some: readonly Conversation[]): Child => el('ul', { role: 'list' }, some.map((one) => el('li', null, this.#conversation(one, one.id === current))))
		const older = all.slice(recent)
		return [
			el('h2', { id: 'conversations' }, t('page.conversations')),
			all.length === 0 ? el('p', { class: 'quiet' }, t('page.conversations.none')) : list(all.slice(0, recent)),
			older.length === 0 ? null : el('details', { id: 'older-list', open: older.some((one) => one.id === current || one.open_questions > 0) },
				el('summary', { id: 'older' }, t('page.conversations.older')), list(older)),
		]
	}

	#moreLinks(): Child {
		const link = (view: 'permissions' | 'trail'): Child => el('li', null, el('a', {
			href: `?view=${view}`, id: `view-${view}`, 'aria-current': this.#place.kind === view ? 'page' : undefined, on: { click: (event) => this.#follow(event, `?view=${view}`) },
		}, t(`page.${view}`)))
		return [
			el('h2', { id: 'more' }, t('page.more')),
			el('ul', { role: 'list' }, link('permissions'), link('trail')),
			canNotify() ? this.#notifications() : null,
		]
	}

	#notifications(): Child {
		const on = notifies()
		const box = el('input', {
			type: 'checkbox', id: 'notify', checked: on, 'aria-describedby': 'notify-about', on: {
				change: () => void setNotifies(box.checked).then((now) => {
					this.#notifyDenied = box.checked && !now
					box.checked = now
					this.#render()
				}),
			},
		})
		return el('div', { class: 'notify' },
			el('div', { class: 'check' }, box, el('label', { for: 'notify' }, t('page.notify'))),
			el('p', { class: 'quiet', id: 'notify-about', role: 'status' }, t(this.#notifyDenied ? 'page.notify.denied' : on ? 'page.notify.on' : 'page.notify.off')))
	}

	#servers(all: readonly Server[]): Child {
		return [
			el('h2', { id: 'servers' }, t('page.servers')),
			all.length === 0
				? el('p', { class: 'quiet' }, this.#store.loaded ? t('picker.no-servers') : t('loading'))
				: el('ul', { role: 'list', class: 'servers' }, all.map((server) => el('li', { 'data-server': server.id }, this.#server(server)))),
		]
	}

	#conversation(one: Conversation, current: boolean): HTMLElement {
		const search = `?c=${encodeURIComponent(one.id)}`
		return el('a', { href: search, id: `c-${one.id}`, 'aria-current': current ? 'page' : undefined, on: { click: (event) => this.#follow(event, search) } },
			el('span', { class: 'foreign title', dir: 'auto' }, one.title || t('page.untitled')),
			el('span', { class: 'quiet' }, one.open_questions > 0 ? el('strong', null, t('inbox.waiting', { n: one.open_questions })) : when(one.updated_at)))
	}

	// The card stays the same one while it is of use: it may hold an address.
	#serverSignIn(server: Server): Child {
		if (server.sign_in !== 'needed' || !server.can_sign_in) {
			this.#signIns.delete(server.id)
			return null
		}
		const card = this.#signIns.get(server.id) ?? new SignInCard(this.#store, server.id, 'inbox')
		this.#signIns.set(server.id, card)
		return card.node
	}

	#serverSignOut(server: Server): Child {
		const end = this.#signOuts.get(server.id) ?? new SignOut(this.#store, server.id, 'inbox')
		this.#signOuts.set(server.id, end)
		return end.update(server.can_sign_out) ? end.node : null
	}

	#server(server: Server): Child {
		return [
			el('p', { class: 'name' }, el('strong', null, bdi(server.id)), ' ', el('span', { class: `status ${server.status}` }, t(`server.${server.status}`))),
			el('p', { class: 'quiet address' }, server.local ? t('who.local') : bdi(server.domain || server.address)),
			server.status === 'failed' && server.error ? el('p', { class: 'bad-text' }, bdi(server.error)) : null,
			server.status === 'sign_in' && server.error ? el('p', { class: 'quiet' }, bdi(server.error)) : null,
			server.sign_in === 'done' && server.account ? el('p', { class: 'quiet' }, rich('sign-in.as', { account: server.account })) : null,
			this.#serverSignIn(server),
			this.#serverSignOut(server),
			el('details', { id: `details-${encodeURIComponent(server.id)}` }, el('summary', { id: `more-${encodeURIComponent(server.id)}` }, t('server.more')), el('dl', { class: 'rows' },
				row('server.address', server.address), row('server.revision', [server.revision, server.era].filter(Boolean).join(', ')),
				(server.notes ?? []).map((note) => row('server.note', note)))),
		]
	}
}

// What the API takes as the name of a conversation: other programs name theirs as they like.
function named(conversation: string): boolean {
	return conversation !== '' && new TextEncoder().encode(conversation).length <= 100 && !/\p{Cc}/u.test(conversation)
}

function row(key: Key, value: string): Child {
	return value === '' ? null : el('div', null, el('dt', null, t(key)), el('dd', null, el('span', { class: 'foreign', dir: 'ltr' }, value)))
}
