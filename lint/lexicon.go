package lint

import (
	"slices"
	"strings"
)

// set reads words set apart by white space.
func set(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[w] = true
	}
	return m
}

// newLexicon reads terms, a comma between them, in the form that fold gives. A
// term that is in two lists is of the first one's kind.
func newLexicon(last, first, gen, whole, suffixes, cjk string) *lexicon {
	x := &lexicon{terms: map[string]termKind{}, firsts: map[string]bool{}}
	for i, list := range [...]string{last, first, gen, whole} {
		for _, t := range terms(list) {
			if x.terms[t] == 0 {
				x.terms[t] = headLast + termKind(i)
			}
			first, _, _ := strings.Cut(t, " ")
			x.firsts[first] = true
			x.longest = max(x.longest, strings.Count(t, " ")+1)
		}
	}
	x.suffixes, x.cjk = terms(suffixes), terms(cjk)
	slices.SortStableFunc(x.cjk, func(a, b string) int { return len(b) - len(a) })
	return x
}

func terms(list string) (out []string) {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			out = append(out, t)
		}
	}
	return out
}

var secrets = newLexicon(
	// Head last: English, German, Dutch, Turkish, Korean, and words that many
	// languages took from English.
	`password, passwords, passwd, pwd, pw, smtp pass, db pass, database pass, user pass, root pass, admin pass, mail pass, ftp pass, mysql pass, login pass, imap pass, sudo pass, pass word, passphrase, pass phrase, passcode, pass code,
	api key, apikey, api keys, api secret, api token, apitoken, access token, auth token, authentication token, authorization token, bearer token, refresh token, session token, security token,
	personal access token, bot token, oauth token, id token, login token, signin token, device token secret, token, secret, jwt, bearer,
	secret key, secretkey, private key, privatekey, signing key, encryption key, decryption key, ssh key, ssl key, tls key, pgp key, gpg key, access key, accesskey, account key, master key, root key, service key,
	storage key, subscription key, license key, licence key, service account key, wallet key, wifi key, wpa key, network key, hmac key, deploy key, consumer key secret, application key, app key, openai key, stripe key, anthropic key, aws key,
	client secret, clientsecret, shared secret, app secret, consumer secret, webhook secret, signing secret, totp secret,
	seed phrase, recovery phrase, mnemonic, mnemonic phrase, mnemonic seed, backup phrase, secret phrase, wallet seed, recovery seed, seed words, recovery words,
	recovery code, recovery codes, recovery key, backup code, backup codes, rescue code,
	one time code, one time password, one time passcode, one time pin, one time token, onetime code, otp, otp code, totp, totp code, 2fa code, mfa code, two factor code, authenticator code, authentication code, auth code, authorization code,
	authorisation code, verification code, sms code, login code, signin code, security code, access code, entry code, door code, gate code, alarm code, lock code, locker code, unlock code, safe code, safe combination, locker combination, lock combination,
	entrance code, building code for the door, mfa token, code sent to, code we sent, code we texted, code from your authenticator, code from the sms, code from your phone, code in the sms, code in the text message, code we emailed, digit code,
	card number, cardnumber, card no, credit card, credit card number, creditcard, debit card, debit card number, payment card, payment card number, card details, credit card details, payment details, cvv, cvc, cvv2, cvc2, cvv code, cvc code, card verification, card verification code, card verification value,
	card security code, card pin, pin, pin code, pincode, pin number, pins, puk, tan, gift card code, gift card number,
	session cookie, auth cookie, login cookie, connection string, database url with password, credential, credentials, login data, login details, signin details, security answer, secret answer, security question, security question answer, memorable word, secret word, secret code,
	passwort, passworter, kennwort, kennworter, losungswort, zugangscode, zugangsschlussel, api schlussel, privater schlussel, privaten schlussel, private schlussel, privatschlussel, geheimer schlussel, geheimen schlussel, geheimschlussel, geheimes wort, geheime worter, wiederherstellungsworter, merkworter der wallet,
	zugriffstoken, zugangstoken, zugriffsschlussel, verschlusselungsschlussel, lizenzschlussel, wiederherstellungsschlussel, kartennummer, kreditkartennummer, kreditkarte, kreditkartendaten, prufnummer, kartenprufnummer, prufziffer der karte, prufziffer der kreditkarte, kartenprufziffer, sicherheitscode, einmalcode, einmalkennwort, bestatigungscode, verifizierungscode,
	wiederherstellungsphrase, wiederherstellungscode, seed phrase, zugangsdaten, anmeldedaten, geheimzahl, geheimnummer, turcode, alarmcode, entsperrcode, ontgrendelcode, geheime schlussel, haustur code, sms code, pin nummer, tan nummer, mtan, geheimnis, sicherheitsfrage,
	wachtwoord, wachtwoorden, wachtzin, toegangscode, toegangstoken, toegangssleutel, api sleutel, apisleutel, prive sleutel, privesleutel, geheime sleutel, licentiesleutel, coderingssleutel, kaartnummer, creditcardnummer, creditcardgegevens, beveiligingscode, kaartcode,
	verificatiecode, eenmalige code, eenmalig wachtwoord, herstelzin, herstelwoorden, herstelcode, herstelsleutel, inloggegevens, aanmeldgegevens, deurcode, inlogcode, geheime code, bevestigingscode sms,
	sifre, sifreniz, sifresi, sifrenizi, sifreyi, sifresini, sifreler, parola, parolaniz, parolanizi, parolasi, parolayi, parolasini, api anahtari, api anahtariniz, api anahtarinizi, api anahtarini, erisim anahtari, erisim anahtarini, erisim belirteci, erisim belirtecini, erisim jetonu, belirteci,
	ozel anahtar, ozel anahtari, ozel anahtariniz, ozel anahtarinizi, gizli anahtar, gizli anahtari, gizli anahtarini, kart numarasi, kart numaraniz, kart numaranizi, kart numarasini, kredi karti, kredi karti numarasi, kredi karti numaraniz, guvenlik kodu, guvenlik kodunu, dogrulama kodu, dogrulama kodunu,
	tek kullanimlik kod, tek kullanimlik kodu, tek kullanimlik sifre, pin kodu, pin kodunu, kurtarma ifadesi, kurtarma ifadesini, kurtarma kelimeleri, kurtarma sozcukleri, kurtarma kodu, giris bilgileri, sms kodu, erisim kodu, kapi kodu, lisans anahtari, giris kodu, bot tokeni, tokeni, tokenini, gizli kelime,
	비밀번호, 패스워드, 암호, 암호문구, 비밀 번호, api 키, api키, 액세스 토큰, 엑세스 토큰, 접근 토큰, 토큰, 비밀 키, 비밀키, 시크릿 키, 개인 키, 개인키, 암호화 키, 카드 번호, 카드번호, 신용카드 번호, 신용카드번호, 보안 코드, 보안코드,
	인증 코드, 인증코드, 인증번호, 인증 번호, 일회용 비밀번호, 일회용 코드, 복구 구문, 복구 단어, 복구 문구, 복구 코드, 시드 구문, 시드 문구, 니모닉, 핀 번호, 핀번호, pin 번호, 자격 증명, 로그인 정보, 라이선스 키, 출입 코드, 현관 비밀번호, 세션 쿠키, otp 번호, 클라이언트 시크릿, 시크릿, 액세스 키`,
	// Head first: Romance and Slavic languages.
	`mot de passe, mots de passe, phrase secrete, phrase de passe, phrase de recuperation, mots de recuperation, phrase mnemonique, secret du webhook, cle api, cles api, cle d api, cle privee, cle secrete, cle d acces, cle de chiffrement, cle de licence, cle de recuperation, cle ssh, cle de signature, cle wifi,
	jeton, jeton d acces, jeton d authentification, jeton api, jeton de session, jeton secret, jeton du bot, numero de carte, numero de la carte, numero de votre carte, numero de carte bancaire, carte bancaire, carte de credit, coordonnees bancaires de la carte, cryptogramme, cryptogramme visuel,
	code de securite, code secret, code pin, code confidentiel, code a usage unique, code de verification, code sms, code recu par sms, code d acces, code d authentification, code de la porte, code de porte, code d entree, digicode, code d alarme, code de recuperation, code de secours, code de validation,
	identifiants de connexion, secret client, reponse secrete, reponse a la question secrete,
	contrasena, contrasenas, clave api, clave de api, clave de la api, clave de acceso, clave privada, clave secreta, clave de cifrado, clave de licencia, clave ssh, clave wifi, frase de contrasena, frase semilla, palabras semilla, palabras de recuperacion, palabra secreta, frase de recuperacion, frase secreta, frase mnemonica, token de acceso, token de api, token de sesion, token secreto,
	numero de tarjeta, numero de la tarjeta, numero de su tarjeta, numero de tu tarjeta, tarjeta de credito, tarjeta de debito, codigo de seguridad, codigo de verificacion, codigo de un solo uso, codigo pin, codigo secreto, codigo de acceso, codigo sms, codigo recibido por sms, codigo de autenticacion, codigo de recuperacion, codigo de la puerta, codigo de la alarma, codigo cvv, credenciales, secreto del cliente, secreto del webhook, secreto compartido, secreto de la aplicacion, secreto de cliente,
	parola d ordine, parola segreta, chiave api, chiave d accesso, chiave di accesso, chiave privata, chiave segreta, chiave di cifratura, chiave di crittografia, chiave di licenza, chiave ssh, chiave wifi, token di accesso, token d accesso, token di sessione, numero di carta, numero della carta, numero carta, numero della tua carta, carta di credito, carta di debito,
	codice di sicurezza, codice pin, codice otp, codice di verifica, codice monouso, codice usa e getta, codice segreto, codice di accesso, codice d accesso, codice sms, codice ricevuto via sms, codice cvv, codice di recupero, codice della porta, codice dell allarme, credenziali, frase di recupero, frase seme, parole di recupero, parole segrete, frase segreta, segreto del client,
	senha, senhas, palavra passe, palavras passe, chave api, chave de api, chave da api, chave privada, chave secreta, chave de acesso, chave de criptografia, chave de licenca, chave ssh, token de acesso, token da api, token de sessao, numero do cartao, numero de cartao, numero do seu cartao, cartao de credito, cartao de debito,
	codigo de seguranca, codigo de verificacao, codigo de uso unico, frase de recuperacao, palavras de recuperacao, palavra secreta, segredo do webhook, segredo da api, frase semente, credenciais, codigo de acesso, codigo recebido por sms, codigo de recuperacao, codigo da porta, codigo do alarme, codigo de autenticacao, segredo do cliente,
	haslo, hasla do, haslem, klucz api, klucz do api, klucz prywatny, klucz dostepu, tajny klucz, klucz tajny, klucz szyfrowania, klucz szyfrujacy, klucz licencyjny, klucz odzyskiwania, token dostepu, token dostepowy, token api, token bota, numer karty, numer karty kredytowej, numer karty platniczej, karta kredytowa, dane karty, kod cvv, kod cvc, kod pin, kod zabezpieczajacy, kod bezpieczenstwa,
	kod weryfikacyjny, kod jednorazowy, jednorazowy kod, kod sms, kod z sms, kod dostepu, kod odzyskiwania, kod do drzwi, kod do alarmu, kod uwierzytelniajacy, fraza odzyskiwania, slowa odzyskiwania, sekret webhooka, sekret klienta, fraza seed, dane logowania, dane uwierzytelniajace, poswiadczenia, haslo jednorazowe,
	пароль, паролем, пароли, ключ api, api ключ, ключ к api, ключ доступа, закрытый ключ, приватный ключ, секретный ключ, ключ шифрования, ключ восстановления, лицензионный ключ, токен, токен доступа, токен бота, номер карты, номер банковской карты, номер вашей карты, номер кредитной карты, данные карты, реквизиты карты, код безопасности, код cvv, cvv код, код с обратной стороны карты,
	код подтверждения, код из смс, код из sms, одноразовый код, код доступа, код авторизации, код аутентификации, код проверки, код восстановления, пин код, пинкод, пин, секретная фраза, сид фраза, сид фразу, фраза восстановления, слова восстановления, секрет вебхука, фразу восстановления, секретную фразу, мнемоническая фраза, мнемоническую фразу, кодовое слово, секретное слово, учетные данные, код от двери, код домофона, код от сейфа, код сигнализации, ответ на секретный вопрос, секрет клиента`,
	// Genitive forms.
	`hasla, hasel, tokena, klucza api, klucza prywatnego, kodu pin, numeru karty, пароля, токена, api ключа, ключа api, приватного ключа, закрытого ключа, секретного ключа, номера карты, пин кода, кода подтверждения, кода из смс`,
	// Whole clause only.
	`clave, secreto, segreto, segredo, seed, pass, sifre kodu, ключ, klucz, sleutel, schlussel, anahtar, 키`,
	`passwort, kennwort, wachtwoord, password, passphrase, passcode, kartennummer, geheimzahl, zugangsdaten, zugriffstoken, accesstoken, authtoken, bottoken, apikey, apitoken, secretkey, privatekey, clientsecret, pincode, 비밀번호, 패스워드, 인증번호, 카드번호, 보안코드`,
	`密码, 密碼, 口令, api密钥, api密鑰, api金鑰, apikey, 密钥, 密鑰, 秘钥, 私钥, 私鑰, 访问令牌, 訪問令牌, 令牌, 访问密钥, token令牌, 银行卡号, 信用卡号, 信用卡號, 卡号, 信用卡信息, 安全码, 安全碼, 验证码, 驗證碼, 校验码, 动态码, 动态口令, 助记词, 助記詞, 恢复短语, 恢复词, 种子短语, 凭据, 凭证, 登录凭证, 登录信息, pin码, 安全代码, 恢复代码, 授权码, 许可证密钥, 门禁密码, 门禁码, 开门码, 解锁码, 解鎖碼, 一次性代码, 安全问题答案, cvv, cvc, token, 访问token,
	パスワード, パスフレーズ, パスコード, 暗証番号, apiキー, アクセストークン, トークン, 秘密鍵, シークレットキー, シークレット, アクセスキー, ライセンスキー, 暗号鍵, 暗号化キー, カード番号, クレジットカード番号, クレジットカード情報, クレジットカード, セキュリティコード, 認証コード, 認証番号, 確認コード, ワンタイムコード, リカバリーフレーズ, シードフレーズ, 復元フレーズ, 復元用の単語, リカバリーワード, リカバリーコード, 復旧コード, バックアップコード, 認証情報, ログイン情報, 資格情報, pinコード, pin, 秘密の質問の答え, 合言葉, ニーモニック, 解錠コード, セッションcookie, クライアントシークレット`,
)

// identifiers name a person; they grant nothing by themselves.
var identifiers = newLexicon(
	`passport number, passport no, social security number, ssn, national insurance number, national id, national id number, id card number, identity card number, tax id, tax number, tax identification number, driver license number, drivers license number, driving licence number, iban, bank account number, account number of the bank, date of birth and name, health insurance number, medical record number,
	reisepassnummer, passnummer, personalausweisnummer, ausweisnummer, sozialversicherungsnummer, steuernummer, steuer id, steueridentifikationsnummer, fuhrerscheinnummer, kontonummer, krankenversicherungsnummer,
	burgerservicenummer, bsn, paspoortnummer, rekeningnummer, rijbewijsnummer, pasaport numarasi, tc kimlik numarasi, kimlik numarasi, vergi numarasi, 여권번호, 여권 번호, 주민등록번호, 주민 등록 번호, 계좌번호, 계좌 번호, 운전면허번호`,
	`numero de passeport, numero de securite sociale, numero fiscal, numero de carte d identite, numero de permis, numero de pasaporte, numero de la seguridad social, dni, nif, nie, numero de identificacion fiscal, numero di passaporto, numero del passaporto, codice fiscale, numero di patente, numero do passaporte, cpf, cnpj, rg, numero da conta,
	numer paszportu, pesel, nip, numer dowodu, numer dowodu osobistego, numer konta, номер паспорта, серия и номер паспорта, инн, снилс, номер счета, номер водительского удостоверения`,
	``, ``, ``, `护照号码, 护照号, 身份证号, 身份证号码, 社保号, 银行账号, パスポート番号, 旅券番号, マイナンバー, 個人番号, 口座番号, 運転免許証番号`,
)

// weak are common terms that certain words before them make harmless.
var weak = map[string]map[string]bool{
	"token":           set("page next continuation pagination sync cursor csrf xsrf design lexer parser stop end start eos bos nft erc20 utility governance max min maximum minimum first last each per total input output cancel cancellation progress native gas lp sell buy swap reward game source target"),
	"secret":          set("trade open top company family best chef dark little kubernetes k8s"),
	"pin":             set("map push drop location gpio lapel bowling header data input output connector clock power ground spi i2c led reset enable status safety hair rolling drawing"),
	"pins":            set("map push gpio lapel bowling header data input output connector number"),
	"access key":      set("keyboard html"),
	"account key":     set("chart"),
	"tan":             set("color colour light dark skin sun"),
	"bearer":          set("passport document title flag ring"),
	"security code":   set("isin cusip stock"),
	"card number":     set("loyalty library member membership business report flash student index sim trading playing fidelity gym"),
	"card no":         set("loyalty library member membership business student"),
	"credential":      set("academic professional teaching"),
	"credentials":     set("academic professional teaching medical press"),
	"kartennummer":    set("bibliotheks kunden mitglieds"),
	"access code":     set("meeting conference webinar"),
	"application key": set("primary foreign"),
	"service key":     set("primary foreign"),
	"private key":     set("public"),
}

// weakAfter are words right after a common term that make it mean something else.
var weakAfter = map[string]map[string]bool{
	"secret":  set("fabrication success succes polichinelle happiness bonheur"),
	"secreto": set("exito profesional felicidad"),
	"segreto": set("successo professionale felicita"),
	"segredo": set("sucesso felicidade profissional"),
	"jeton":   set("casino presence jeu"),
	"token":   set("symbol contract swap sell buy game"),
}

// subordinators begin a clause that tells when, not what.
var subordinators = set("when while whenever unless until because where wenn falls wahrend weil sobald quand lorsque parce cuando mientras porque quando mentre perche enquanto als wanneer terwijl omdat gdy kiedy jesli когда если пока потому")

// interrogatives begin a question for a value, before "is".
var interrogatives = set("what whats which quel quelle cual qual welches was wie wat jaki jakie какой какая")

var (
	negations = set(`no not never without don doesn didn cannot can isn aren nothing none neither nor kein keine keinen keiner nicht ohne nie niemals sans pas jamais aucun aucune ne sin nunca ningun ninguna non senza mai nessun nessuna sem nao nenhum nenhuma geen niet zonder nooit bez nie nigdy zadnego без не нет никогда degil olmadan yok asla 없이 안 아닌 마세요 말 않 불필요`)
	actions   = set(`has have is are requires require required uses use using forgot forgotten forget lost show hide enable disable allow rotate revoke expired expire reset whether if
		vergessen vergessene oublie oubliee olvidada olvidado dimenticata esqueceu vergeten zapomniane забыли забыт unuttum hat verlangt benotigt`)
	wants    = set(`needed required need ask asked asking asks necessary wanted share store shared stored here notig erforderlich gebraucht noetig necessaire demande requis demandons necesario necesita pedimos necessario serve chiediamo necessaria precisa pedimos nodig gevraagd potrzebne wymagane требуется нужен нужно спрашиваем gerekli gerekmez istemeyiz 필요 요구`)
	requests = set(`enter enters type paste provide give input insert supply submit copy fill choose set create pick write send tell need want please confirm repeat retype reenter specify put state share reveal
		eingeben gib geben bitte einfugen nenne nennen angeben angib wahlen wahle wiederholen wiederhole eintragen trage tragen hinterlegen schicken sende senden bestatigen bestatige benotigen brauchen eingabe
		entrez entrer saisir saisissez saisie indiquez indiquer donner donnez collez coller fournir fournissez tapez choisissez confirmez confirmer renseignez veuillez repetez envoyez merci communiquer communiquez transmettre
		introduce introduzca introducir ingrese ingresa ingresar escribe escriba pega pegue proporciona proporcione indique indica dame elige elija confirma confirme repita repite envie teclee
		inserisci inserire inserisca incolla incollare digita digiti fornisci fornire scrivi indicare scegli conferma confermare ripeti inviare invia invii inviami mandi mandami dia dammi
		digite insira informe informar cole forneca introduza escreva escolha repita envie digitar
		voer vul geef plak typ typt invoeren invullen invoer kies bevestig bevestigen herhaal opgeven stuur verstrek
		podaj wpisz wklej wprowadz ustaw wybierz potwierdz powtorz prosze przeslij podac wpisac
		girin giriniz gir yazin yaziniz yapistirin belirtin verin secin onaylayin tekrarlayin tekrar giris lutfen olusturun gonderin
		введите ввести вставьте укажите указать напишите сообщите придумайте подтвердите повторите пришлите введи вставь пожалуйста задайте отправьте
		입력 입력하세요 입력해 입력하십시오 붙여넣으세요 붙여넣기 제공 알려 보내 설정하세요 재입력 확인`)
	trailingRequests = set(`eingeben einfugen angeben wiederholen eintragen nennen wahlen hinterlegen ein an invoeren invullen in opgeven girin giriniz nedir 무엇인가요 무엇입니까 뭐예요 뭔가요 yazin yapistirin belirtin verin tekrarlayin olusturun gonderin 입력 입력하세요 입력해 입력하십시오 붙여넣으세요 붙여넣기 제공 알려 please bitte prosze пожалуйста lutfen`)
	transparent      = set(`confirmation confirm repetition repeat value text content copy reentry bestatigung wiederholung wert eingabe saisie valeur repetition confirmacion repeticion valor conferma ripetizione valore confirmacao repeticao bevestiging herhaling waarde potwierdzenie powtorzenie wartosc подтверждение повтор значение ввод answer antwort reponse respuesta risposta resposta 값 your the`)
	determiners      = set(`sie du man mir uns me us i we you vous nous moi te nos mi ci gli ons mij mnie nam мне нам bana bize the a an your my our their his its this that new old current temporary existing der die das den dem ein eine einen einem ihr ihre ihren dein deine deinen mein neue neues alte le la les un une votre ton ta vos mon el los las una tu su sus mi nueva il lo gli i tuo tua suo sua vostro o os as seu uma um de het een uw je jouw nieuw nieuwe swoje swoj nowe twoje свой ваш твой ваши новый yeni sizin 새 현재`)
	conjunctions     = set(`and or und oder et ou y o u e ed oppure ossia i lub oraz albo и или ve veya ya en bzw sowie 및 또는 & plus then`)
	copulas          = set(`is are was were will has had can may does did ist sind war wird werden hat kann est sont sera a peut es son sera puede e sono sara puo foi pode zijn wordt kan jest beda moze zostanie будет был может хранится используется gets never n`)
	links            = set(`of for to about with by from in on at as per via used into behind under
		von vom zum zur fur des der dem den mit uber aus bei im am an auf
		de du d des pour avec par dans sur au aux
		del al con para por en sobre
		di della dello dell dei degli da dal dalla dall per su sull nel nell della all
		do dos das com ao na no
		van voor met bij op uit naar
		dla z do od na w ze
		для от из о об к на с в по со за
		icin ile`)
	tails = set(`value text string again confirmation confirm repeat repeated please optional here you your that which we must should if when used needed sent received the a an now below above line characters digits old new nr no number code hash
		erneut wiederholen optional hier wiederholung bitte neu alt
		actuel actuelle nouveau nouvelle maitre temporaire
		actual nueva nuevo maestra secreto temporal
		attuale nuova nuovo principale segreto segreta
		atual nova novo mestra
		opnieuw hier herhalen
		ponownie tutaj glowne
		tekrar yeni
		다시 확인 재입력 값 입력 선택 필수
		ein an ihrer ihres deiner deines meiner meines seiner eines einer unserer unseres die dat der das que qui che ktory ktora который которую`)
	services = set(`github gitlab bitbucket slack openai anthropic aws azure google gcp telegram discord wifi wi smtp imap ftp sftp ssh bot api jira notion stripe paypal twilio hubspot salesforce linear sentry npm docker postgres mysql mongodb redis oracle windows admin root cloudflare heroku vercel netlify figma zoom dropbox git hub gmail outlook instagram facebook twitter netflix apple microsoft shopify datadog grafana`)
)

// Words from which composed puts a code together.
var (
	codeWords = set(`code codes kod kodu kodunu kode codigo codice код 코드 digicode combination kombination combinaison combinacion combinazione kombinacja комбинация`)
	codeHeads = set(`name label format length count type review owner style editor snippet block base quality path number`)
	opened    = set(`door gate garage safe locker vault alarm entrance entry lock intercom elevator lobby building tur tor garage tresor schliessfach eingang alarmanlage hauseingang schranke
		porte portail coffre entree casier alarme immeuble garage interphone puerta portal caja cajafuerte taquilla alarma garaje porton edificio porta cancello portone cassaforte armadietto allarme ingresso
		portao cofre armario alarme garagem entrada deur poort kluis kluisje alarm ingang drzwi bramy brama sejfu skrytki alarmu furtki wejscia kapi kapisi kapinin kasa kasasi dolap alarm garaj giris
		desbloquear desbloqueo sbloccare sblocco deverrouiller deverrouillage desbloqueio entsperren entsperrung ontgrendelen odblokowania odblokowac kilit kilidi acma разблокировки разблокировать unlock unlocking 잠금 해제 двери дверь подъезда подъезд сейфа сейф ворот домофона шкафчика сигнализации калитки гаража 현관 현관문 금고 사물함 출입문 대문 경보`)
	received     = set(`sms text texted texts authenticator смс 문자 문자로 인증 otp 2fa mfa whatsapp`)
	phones       = set(`handy telefon telefono telephone mobile phone celular movil telefoon telefonunuza telefonuna telefonu portable телефон телефона 휴대폰 휴대폰으로 email mail app application aplicacion applicazione aplicativo aplikacji uygulama приложения приложении`)
	got          = set(`received receive receives sent send got texted emailed shown generated erhalten erhaltenen gesendet geschickt angezeigt recu recue recus envoye affiche recibido recibio recibida enviado enviamos muestra recebido recebeu mostrado ricevuto ricevuta inviato mostrato ontvangen gekregen gestuurd verzonden otrzymany otrzymales wyslany wyslalismy gelen gonderilen gonderdigimiz пришедший пришел присланный отправленный отправили полученный получили 받은 보낸 전송된`)
	digitWords   = set(`digits digit numbers ziffern ziffer chiffres cifras digitos numeros cifre cijfers cyfry cyfr haneli rakam цифры цифр 자리 숫자`)
	cardWords    = set(`card karte carte tarjeta carta cartao kaart karty kart kartin karta карты карте 카드`)
	backWords    = set(`back reverse ruckseite dos verso reverso atras retro achterkant odwrocie arka arkasindaki обороте оборотной 뒷면`)
	loyalty      = set(`loyalty membership member library bonus points fidelity fidelite fidelidad fidelidade fedelta kundenkarte kunden treue treuekarte klantenkaart klant stalego klienta lojalnosciowej biblioteki musteri sadakat лояльности скидочной бонусной клиента читательского 포인트 멤버십 회원 회원카드 puntos pontos socio visite visita biblioteca bibliotheque`)
	keyWords     = set(`key schlussel cle clave chiave chave sleutel klucz anahtar ключ 열쇠`)
	unlocking    = set(`decrypt decrypts unlock unlocks unlocking entsperren entschlusseln aufsperren offnen dechiffrer deverrouiller descifrar desbloquear decifrare sbloccare decifrar descriptografar ontsleutelen ontgrendelen odszyfrowania odblokowania расшифровки разблокировки`)
	loyaltyStems = []string{"kunden", "mitglied", "bibliothek", "treue", "bonus", "klanten", "spielerkarte", "visiten"}
	cjkCodes     = []string{"コード", "番号", "代码", "验证码", "数字", "コード番号", "口令"}
	cjkReceived  = []string{"smsで", "sms", "短信", "手机收到", "携帯に", "スマホに", "メッセージで届いた", "届いたコード", "玄関", "入館", "入室", "解錠", "ロック解除", "解锁", "ドア", "門の", "金庫", "ロッカー", "门禁", "大门", "保险箱", "储物柜", "カード裏", "卡背面"}
	cjkLoyalty   = []string{"会员", "會員", "積分", "积分", "ポイント", "会員", "図書", "图书"}
)

var (
	cjkNegations = []string{"不要", "请勿", "無需", "无需", "不需要", "忘记", "忘れ", "不会", "绝不", "切勿", "不存", "ことはありません", "必要ありません", "必要はありません", "不要です", "しないで", "聞くことはありません", "求めません", "お尋ねしません", "入力しません", "いりません", "忘記"}
	cjkRequests  = []string{"输入", "輸入", "填写", "粘贴", "提供", "设置", "请", "請", "入力", "貼り付け", "ください", "教えて", "お知らせ", "発送", "发送", "再次", "登録", "設定"}
	cjkHeads     = []string{"の名前", "名称的", "数量的", "关于", "についての", "に関する", "公开"}
	cjkTails     = []string{"を", "の入力", "の再入力", "の確認", "の値", "（", "(", "が必要", "をもう", "は必須", "再入力", "確認用", "再次", "确认", "確認", "的值", "是多少", "（必填", "を設定", "发给", "发送", "は？", "は?", "で認証", "粘贴", "是什么", "は何ですか", "是多少", "をご入力"}
)
