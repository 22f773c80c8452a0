// testOnlyForm draws a form without its card, for the tests in interop/vectors. It
// lies in a folder of its own, so that no bundle of web/dist holds it.

import { el, shadow } from '../lib/dom'
import type { View } from '../lib/wire'
import { Form, type FormOptions } from '../form/form'
import base from '../lib/base.css'
import css from '../form/form.css'

declare global {
	interface Window {
		/** Draws the form in place of the one before. */
		testOnlyForm: (view: View, options?: Partial<FormOptions>) => Form
	}
}

window.testOnlyForm = (view, options) => {
	const host = el('main', { id: 'form' })
	const form = new Form({ view, server: 'desk', ...options })
	shadow(host, base, css).append(el('form', { noValidate: true }, form.node))
	document.getElementById('form')?.remove()
	document.body.append(host)
	return form
}
