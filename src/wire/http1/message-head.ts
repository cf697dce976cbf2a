/** Heads of HTTP/1 messages, read strictly: whatever two servers could read in two ways is refused, so that nobody smuggles a request past one of them. */

/** What is wrong with a message, and how the client is told. */
export class MalformedMessage extends Error {
  override name = 'MalformedMessage'
  readonly status: number

  constructor(message: string, status = 400) {
    super(message)
    this.status = status
  }
}

/** The body's length; `chunked`: told on the way; `untilClose`: told by the end of the connection. */
export type BodyLength = number | 'chunked' | 'untilClose'

type Shared = {
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  minorVersion: number
  /** Name, value, name, value, in the order they came, without those that are for one connection only. */
  headers: string[]
  /** The other side takes further messages on this connection. */
  keepsAlive: boolean
  /** The protocol that is to follow, where the connection's headers say so. */
  upgrade: string | undefined
}

export type RequestHead = Shared & {
  method: string
  target: string
  /** As sent; empty where there is none, which HTTP/1.0 alone may. */
  host: string
  body: Exclude<BodyLength, 'untilClose'>
  expectsContinue: boolean
  /** `TE: trailers` was sent, which gRPC asks for. */
  takesTrailers: boolean
}

export type ResponseHead = Shared & {
  status: number
  reason: string
  /** `none`: whatever the headers say of a length. */
  body: BodyLength | 'none'
  /** For how many seconds the server says it keeps an idle connection. */
  idleSeconds: number | undefined
}

// A line ends in CR LF, a name has no space before its colon, no line continues the one before, and no value holds a control character.
const headersPattern = /(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/y
const requestLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const hostPattern = /^(?:[A-Za-z0-9\-._~%!$&'()*+,;=]*|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

type Fields = {
  headers: string[]
  host: string | undefined
  length: number | undefined
  codings: string | undefined
  connection: string
  upgrade: string | undefined
  expects: boolean
  te: string
  idleSeconds: number | undefined
}

/** `text` is the whole head in latin1, its last empty line included. */
export function readRequestHead(text: string): RequestHead {
  const end = text.indexOf('\r\n')
  const line = requestLine.exec(text.slice(0, end))
  if (line === null) {
    if (/ HTTP\/[02-9]/.test(text.slice(0, end))) throw new MalformedMessage('the version of HTTP is not supported', 505)
    throw new MalformedMessage('the request line is malformed')
  }
  const [, method = '', target = ''] = line
  const minorVersion = line[3] === '0' ? 0 : 1
  const fields = readFields(text, end + 2)
  if (fields.host === undefined && minorVersion === 1) throw new MalformedMessage('the header Host is missing')
  if (fields.host !== undefined && !hostPattern.test(fields.host)) throw new MalformedMessage('the header Host is malformed')
  const place = targetOf(method, target, fields.host ?? '')
  if (fields.codings !== undefined) {
    if (fields.length !== undefined) throw new MalformedMessage('a request may not have both Content-Length and Transfer-Encoding')
    if (minorVersion === 0) throw new MalformedMessage('a request of HTTP/1.0 may not have Transfer-Encoding')
    if (fields.codings !== 'chunked') throw new MalformedMessage('the transfer encoding is not supported', 501)
  }
  const { keepsAlive, upgrade, headers } = forThisConnection(fields, minorVersion)
  return {
    ...{ method, target: place.target, host: place.host, minorVersion, headers, keepsAlive },
    body: fields.codings === undefined ? (fields.length ?? 0) : 'chunked',
    upgrade,
    expectsContinue: fields.expects && minorVersion === 1,
    takesTrailers: /(?:^|,)\s*trailers\s*(?:$|,)/i.test(fields.te),
  }
}

/** `method` is the request's, which decides whether there is a body. */
export function readResponseHead(text: string, method: string): ResponseHead {
  const end = text.indexOf('\r\n')
  const line = statusLine.exec(text.slice(0, end))
  if (line === null) throw new MalformedMessage('the status line is malformed', 502)
  const status = Number(line[2])
  const minorVersion = line[1] === '0' ? 0 : 1
  const fields = readFields(text, end + 2)
  const { keepsAlive, upgrade, headers } = forThisConnection(fields, minorVersion)
  const reason = line[3] ?? ''
  const shared = { status, reason, minorVersion, headers, upgrade, idleSeconds: fields.idleSeconds }
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
    // The length says what a body would have had.
    if (fields.length !== undefined && status >= 200 && status !== 204) headers.push('Content-Length', String(fields.length))
    return { ...shared, body: 'none', keepsAlive }
  }
  if (fields.codings !== undefined) {
    if (fields.length !== undefined) throw new MalformedMessage('a response may not have both Content-Length and Transfer-Encoding', 502)
    if (fields.codings !== 'chunked') throw new MalformedMessage('the transfer encoding is not supported', 502)
    return { ...shared, body: 'chunked', keepsAlive }
  }
  if (fields.length === undefined) return { ...shared, body: 'untilClose', keepsAlive: false }
  return { ...shared, body: fields.length, keepsAlive }
}

/** The header lines of a trailer, which begins where a body has ended. */
export function readTrailer(text: string): string[] {
  return forThisConnection(readFields(text, 0), 1).headers
}

function readFields(text: string, start: number): Fields {
  headersPattern.lastIndex = start
  if (!headersPattern.test(text) || headersPattern.lastIndex !== text.length) throw new MalformedMessage('a header is malformed')
  const fields: Fields = {
    ...{ headers: [], host: undefined, length: undefined, codings: undefined, connection: '', upgrade: undefined },
    ...{ expects: false, te: '', idleSeconds: undefined },
  }
  const last = text.length - 2
  for (let at = start; at < last; ) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    const name = text.slice(at, colon)
    takeField(fields, name, text.slice(colon + 1, end).trim())
    at = end + 2
  }
  return fields
}

/** Headers for one connection are understood here and go no further. */
function takeField(fields: Fields, name: string, value: string): void {
  switch (name.length) {
    case 2:
      if (isSame(name, 'te')) {
        fields.te = value
        return
      }
      break
    case 4:
      if (isSame(name, 'host')) {
        if (fields.host !== undefined) throw new MalformedMessage('there is more than one header Host')
        fields.host = value
        return
      }
      break
    case 6:
      if (isSame(name, 'expect')) {
        if (value.toLowerCase() !== '100-continue') throw new MalformedMessage('the expectation is not supported', 417)
        fields.expects = true
        return
      }
      break
    case 7:
      if (isSame(name, 'upgrade')) {
        fields.upgrade = value
        return
      }
      break
    case 10:
      if (isSame(name, 'connection')) {
        fields.connection = fields.connection === '' ? value : `${fields.connection},${value}`
        return
      }
      if (isSame(name, 'keep-alive')) {
        const seconds = /(?:^|[,;\s])timeout=(\d{1,6})/.exec(value)?.[1]
        if (seconds !== undefined) fields.idleSeconds = Number(seconds)
        return
      }
      break
    case 14:
      if (isSame(name, 'content-length')) {
        takeLength(fields, value)
        return
      }
      break
    case 16:
      if (isSame(name, 'proxy-connection')) return
      break
    case 17:
      if (isSame(name, 'transfer-encoding')) {
        if (fields.codings !== undefined) throw new MalformedMessage('there is more than one header Transfer-Encoding')
        fields.codings = value.toLowerCase()
        return
      }
      break
  }
  fields.headers.push(name, value)
}

function takeLength(fields: Fields, value: string): void {
  if (!/^\d{1,15}$/.test(value)) throw new MalformedMessage('the header Content-Length is malformed')
  const length = Number(value)
  if (fields.length !== undefined && fields.length !== length) throw new MalformedMessage('there are different headers Content-Length')
  fields.length = length
}

const isSame = (name: string, lower: string): boolean => name === lower || name.toLowerCase() === lower

function forThisConnection(fields: Fields, minorVersion: number): { keepsAlive: boolean; upgrade: string | undefined; headers: string[] } {
  const { connection, headers } = fields
  if (connection === '') return { keepsAlive: minorVersion === 1, upgrade: undefined, headers }
  const lower = connection.toLowerCase()
  if (lower === 'keep-alive') return { keepsAlive: true, upgrade: undefined, headers }
  if (lower === 'close') return { keepsAlive: false, upgrade: undefined, headers }
  const words = new Set(lower.split(',').map((word) => word.trim()))
  const keepsAlive = words.has('close') ? false : minorVersion === 1 || words.has('keep-alive')
  const upgrade = words.has('upgrade') ? fields.upgrade : undefined
  for (const word of ['close', 'keep-alive', 'upgrade', 'te', '']) words.delete(word)
  return { keepsAlive, upgrade, headers: words.size === 0 ? headers : withoutNamed(headers, words) }
}

function withoutNamed(headers: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]]
    if (!names.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

/** The absolute form, which proxies are asked by, names the host itself. */
function targetOf(method: string, target: string, host: string): { target: string; host: string } {
  if (target.startsWith('/')) return { target, host }
  if (target === '*' && method === 'OPTIONS') return { target, host }
  const absolute = /^https?:\/\/([^/?#@]+)([/?].*)?$/i.exec(target)
  if (absolute === null || method === 'CONNECT') throw new MalformedMessage('the target of the request is malformed')
  const [, named = '', rest = '/'] = absolute
  if (!hostPattern.test(named)) throw new MalformedMessage('the target of the request is malformed')
  return { target: rest.startsWith('?') ? `/${rest}` : rest, host: named }
}
