// The script of the page that `parley serve` shows.

import './elements'
import { ParleyApp } from './page/app'

customElements.define('parley-app', ParleyApp)
