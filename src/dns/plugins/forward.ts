import { FollowedFiles } from '#base/followed-files.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { parseDuration } from '#dns/corefile/duration.ts'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { dnsPort, zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsRequest, type DnsResponse, dnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, type PluginContext, wholeNumberAt, wrongOption } from '#dns/plugin.ts'
import { readNameServers } from '#dns/upstream/read-name-servers.ts'
import { Upstream } from '#dns/upstream/upstream.ts'
import { isWithin } from '#wire/dns/dns-name.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'
import { rcodeName } from '#wire/dns/record-type.ts'

type ForwardSettings = {
  from: string
  /** Addresses, and files such as /etc/resolv.conf that name them. */
  to: string[]
  except: string[]
  policy: 'random' | 'round_robin' | 'sequential'
  maxFails: number
  healthMs: number
  maxConcurrent: number
  forcesTcp: boolean
  prefersUdp: boolean
}

const readTimeoutMs = 2000
const wholeTimeoutMs = 5000

/** Asks other servers. */
export const forward: DnsPlugin = {
  name: 'forward',
  mayRepeat: true,
  async setup(directives, context) {
    const parts = await Promise.all(directives.map((directive) => Forwarding.open(readSettings(directive), context)))
    return {
      handle: (next) => (request) => (parts.find((part) => part.isFor(request.name))?.ask ?? next)(request),
      stop() {
        for (const part of parts) part.stop()
      },
    }
  },
}

function readSettings(directive: Directive): ForwardSettings {
  const { args, block, line } = directive
  const [from = '', ...to] = args
  if (to.length === 0) throw new Error(`line ${line}: forward wants a zone and where to ask: forward . /etc/resolv.conf`)
  const settings: ForwardSettings = {
    ...{ from: zoneName(from, line), to, except: [], policy: 'random', maxFails: 2, healthMs: 500, maxConcurrent: 0 },
    ...{ forcesTcp: false, prefersUdp: false },
  }
  for (const option of block) {
    const [first = ''] = option.args
    if (option.name === 'except') settings.except.push(...option.args.map((zone) => zoneName(zone, option.line)))
    else if (option.name === 'policy' && ['random', 'round_robin', 'sequential'].includes(first))
      settings.policy = first as ForwardSettings['policy']
    else if (option.name === 'max_fails') settings.maxFails = wholeNumberAt(option, 0)
    else if (option.name === 'health_check') settings.healthMs = parseDuration(first, option.line)
    else if (option.name === 'max_concurrent') settings.maxConcurrent = wholeNumberAt(option, 0)
    else if (option.name === 'force_tcp') settings.forcesTcp = true
    else if (option.name === 'prefer_udp') settings.prefersUdp = true
    // Connections are not kept, so that there is nothing to expire.
    else if (option.name !== 'expire') throw wrongOption('forward', option)
  }
  return settings
}

class Forwarding {
  readonly #settings: ForwardSettings
  readonly #context: PluginContext
  readonly #underWay = new Map<string, Promise<DnsResponse>>()
  #upstreams: Upstream[] = []
  #changes: FollowedFiles | undefined
  #turn = 0

  private constructor(settings: ForwardSettings, context: PluginContext) {
    this.#settings = settings
    this.#context = context
  }

  static async open(settings: ForwardSettings, context: PluginContext): Promise<Forwarding> {
    const forwarding = new Forwarding(settings, context)
    const { files, logger } = context
    const paths = settings.to.filter((target) => target.startsWith('/'))
    const changes = FollowedFiles.at(paths, files)
    forwarding.#changes = changes
    await forwarding.#resolveTargets()
    changes.readAgain(
      () => forwarding.#resolveTargets(),
      (error) => logger.warn('failed to reload upstream name servers', { paths, error: String(error) }),
    )
    return forwarding
  }

  isFor(name: string): boolean {
    const { from, except } = this.#settings
    return isWithin(name, from) && !except.some((zone) => isWithin(name, zone))
  }

  stop(): void {
    this.#changes?.[Symbol.dispose]()
    for (const upstream of this.#upstreams) upstream.stop()
  }

  readonly ask = (request: DnsRequest): Promise<DnsResponse> => {
    const { metrics } = this.#context
    const { asked, type, class: questionClass, protocol, isDnssecOk, isCheckingDisabled, isRecursionDesired } = request
    const key = `${asked} ${type} ${questionClass} ${protocol} ${isDnssecOk} ${isCheckingDisabled} ${isRecursionDesired}`
    const known = this.#underWay.get(key)
    if (known !== undefined) return known
    const { maxConcurrent } = this.#settings
    if (maxConcurrent > 0 && this.#underWay.size >= maxConcurrent) {
      metrics.concurrencyRejects.inc()
      return Promise.reject(new Error(`concurrent queries exceeded maximum ${maxConcurrent}`))
    }
    const asking = this.#ask(request).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, asking)
    return asking
  }

  async #ask(request: DnsRequest): Promise<DnsResponse> {
    const { clock, metrics } = this.#context
    const { maxFails, forcesTcp, prefersUdp } = this.#settings
    const deadline = clock.monotonic() + wholeTimeoutMs
    const list = this.#inOrder()
    let error: unknown = new Error('no upstream server is known')
    let refusals = 0
    for (let index = 0; list.length > 0 && clock.monotonic() < deadline; index++) {
      let upstream = list[index % list.length] as Upstream
      if (upstream.isDown(maxFails)) {
        if (++refusals < list.length) continue
        // All of them: more likely the health check is what fails.
        metrics.healthBroken.inc()
        upstream = list[this.#context.random.int(list.length)] as Upstream
      }
      const options = { protocol: forcesTcp ? 'tcp' : prefersUdp ? 'udp' : request.protocol, timeoutMs: readTimeoutMs } as const
      const startedMs = clock.monotonic()
      try {
        let answer = await upstream.ask(request, options)
        if (answer.isTruncated && prefersUdp) answer = await upstream.ask(request, { ...options, protocol: 'tcp' })
        const labels = { proxy_name: 'forward', to: upstream.name, rcode: rcodeName(answer.rcode) }
        metrics.upstreamSeconds.observe((clock.monotonic() - startedMs) / 1000, labels)
        return dnsResponse(answer)
      } catch (failure) {
        error = failure
        if (maxFails > 0) upstream.checkHealth()
        if (index + 1 >= list.length && index >= 1) break
      }
    }
    throw error
  }

  #inOrder(): readonly Upstream[] {
    const list = this.#upstreams
    if (this.#settings.policy === 'sequential' || list.length < 2) return list
    const first = this.#settings.policy === 'random' ? this.#context.random.int(list.length) : this.#turn++ % list.length
    return [...list.slice(first), ...list.slice(0, first)]
  }

  async #resolveTargets(): Promise<void> {
    const { files } = this.#context
    const addresses: SocketAddress[] = []
    for (const target of this.#settings.to) {
      if (target.startsWith('/')) addresses.push(...(await readNameServers(target, files)))
      else addresses.push(serverAddress(target))
    }
    const known = new Map(this.#upstreams.map((upstream) => [upstream.name, upstream]))
    const options = { healthMs: this.#settings.healthMs, forcesTcp: this.#settings.forcesTcp }
    this.#upstreams = addresses.map((address) => {
      const upstream = new Upstream(address, options, this.#context)
      return known.get(upstream.name) ?? upstream
    })
    for (const [name, upstream] of known) if (!this.#upstreams.some((each) => each.name === name)) upstream.stop()
  }
}

/** `1.1.1.1`, `1.1.1.1:5353`, `[fd00::1]:53`, `dns://…`. */
export function serverAddress(text: string): SocketAddress {
  const [, scheme, rest = ''] = /^(?:(\w+):\/\/)?(.*)$/.exec(text) ?? []
  if (scheme !== undefined && scheme !== 'dns') throw new Error(`${text}: ${scheme} is not spoken, dns alone is`)
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+|[0-9a-f:]+))(?::(\d+))?$/i.exec(rest) ?? []
  const host = canonicalIp(rest) ?? canonicalIp(bracketed ?? plain ?? '')
  if (host === undefined) throw new Error(`${text} is not a valid address of a name server, nor a file that names some`)
  return { host, port: canonicalIp(rest) === undefined && port !== undefined ? Number(port) : dnsPort }
}
