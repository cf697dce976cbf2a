/** `-v`: what is asked of the server and what it answers, in the lines that users of kubectl search for. */
import type { HttpClient, HttpClientRequest, HttpClientResponse } from '#base/http-client.ts'
import { thisProcess } from '#base/machine.ts'
import { plainHttp } from '#base/plain-http.ts'
import type { Host } from '#cli/host.ts'

/** Bodies are cut at these lengths; from 10 on nothing is cut. */
const shownChars: Readonly<Record<number, number>> = { 8: 1024, 9: 10_240 }
const secretHeaders = new Set(['authorization', 'proxy-authorization'])

export class RequestLog {
  readonly #host: Host
  readonly level: number

  constructor(host: Host, level: number) {
    this.#host = host
    this.level = level
  }

  /** `I1116 01:51:37.625323   29980 loader.go:407] …`; said from this level on. */
  say(level: number, place: string, text: string): void {
    if (this.level >= level)
      this.#host.complain(`I${stamp(this.#host.clock.nowMicros())} ${String(thisProcess.pid).padStart(7)} ${place}] ${text}\n`)
  }

  /** A client whose requests are told. */
  around(http: HttpClient): HttpClient {
    if (this.level < 6) return http
    return {
      request: (request) => this.#tell(http, request),
      [Symbol.dispose]: () => http[Symbol.dispose](),
    }
  }

  async #tell(http: HttpClient, request: HttpClientRequest): Promise<HttpClientResponse> {
    const { method = 'GET', url, headers = {}, body } = request
    const what = `verb="${method}" url=${JSON.stringify(url)}`
    this.#body('Request', body === undefined ? '' : typeof body === 'string' ? body : Buffer.from(body).toString())
    if (this.level >= 9) this.say(9, 'round_trippers.go:527', `"Request" curlCommand=<\n\t${curl(request)}\n >`)
    else if (this.level >= 7) this.say(7, 'round_trippers.go:527', `"Request" ${what} headers=${headerText(headers)}`)
    const started = this.#host.clock.monotonic()
    const elapsed = () => Math.round(this.#host.clock.monotonic() - started)
    let response: HttpClientResponse
    try {
      response = await http.request(request)
    } catch (error) {
      this.say(
        6,
        'round_trippers.go:632',
        `"Response" ${this.level === 6 || this.level >= 9 ? `${what} ` : ''}status="" milliseconds=${elapsed()}`,
      )
      throw error
    }
    const status = `status="${response.status} ${plainHttp.STATUS_CODES[response.status] ?? ''}"`
    const shown = this.level >= 8 ? ` headers=${headerText(response.headers)}` : ''
    const subject = this.level === 6 || this.level >= 9 ? `${what} ` : ''
    this.say(6, 'round_trippers.go:632', `"Response" ${subject}${status}${shown} milliseconds=${elapsed()}`)
    return {
      ...response,
      text: async (limitBytes) => {
        const text = await response.text(limitBytes)
        this.#body('Response', text)
        return text
      },
    }
  }

  #body(whose: 'Request' | 'Response', text: string): void {
    if (this.level < 8) return
    const limit = this.level >= 10 ? Number.POSITIVE_INFINITY : (shownChars[this.level] ?? 1024)
    const cut = text.length > limit ? `${text.slice(0, limit)} [truncated ${text.length - limit} chars]` : text
    const shown = cut.includes('\n') ? `<\n${cut.replaceAll(/^/gm, '\t')}\n >` : JSON.stringify(cut)
    this.say(8, 'helper.go:113', `"${whose} Body" body=${shown}`)
  }
}

/** Month, day and time with microseconds, as Go's log has them. */
function stamp(micros: number): string {
  const date = new Date(Math.floor(micros / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${two(date.getMonth() + 1)}${two(date.getDate())} ${time}.${String(Math.floor(micros % 1_000_000)).padStart(6, '0')}`
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const canonical = (name: string): string => name.replaceAll(/(?:^|-)[a-z]/g, (text) => text.toUpperCase())

function headerLines(headers: Headers): [string, string][] {
  return Object.entries(headers)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [value].flat().map((each): [string, string] => [canonical(name), maskedHeader(name, each as string)]),
    )
    .filter(([name]) => !name.startsWith('Kubectl-'))
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
}

function maskedHeader(name: string, value: string): string {
  if (!secretHeaders.has(name.toLowerCase())) return value
  return value.includes(' ') ? `${value.slice(0, value.indexOf(' '))} <masked>` : '<masked>'
}

const headerText = (headers: Headers): string =>
  `<\n${headerLines(headers)
    .map(([name, value]) => `\t${name}: ${value}\n`)
    .join('')} >`

function curl({ method = 'GET', url, headers = {} }: HttpClientRequest): string {
  return `curl -v -X${method} ${headerLines(headers)
    .map(([name, value]) => ` -H ${JSON.stringify(`${name}: ${value}`)}`)
    .join('')} '${url}'`
}
