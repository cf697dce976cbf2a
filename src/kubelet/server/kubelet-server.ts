import type { X509Certificate } from 'node:crypto'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Processes } from '#base/processes.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'
import type { Client } from '#client/client.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { Authentication, type Caller } from '#kubelet/server/authentication.ts'
import {
  AuthorizationTrouble,
  type Authorize,
  forbiddenText,
  nodeAttributes,
  reviewingAuthorization,
} from '#kubelet/server/authorization.ts'
import { containerLogs } from '#kubelet/server/container-logs.ts'
import { type CsiDoors, csiCall } from '#kubelet/server/csi-calls.ts'
import { type HealthCheck, health } from '#kubelet/server/health.ts'
import { nodeLogQuery } from '#kubelet/server/node-log-query.ts'
import { nodeLogs } from '#kubelet/server/node-logs.ts'
import { pods, runningPods } from '#kubelet/server/pod-lists.ts'
import { Refusal, respondJson, respondText } from '#kubelet/server/refusal.ts'
import { run } from '#kubelet/server/run.ts'
import { attach, exec, portForward } from '#kubelet/server/streams.ts'
import { olderStats } from '#kubelet/stats/older-stats.ts'
import type { UsageSource } from '#kubelet/stats/usage.ts'

/** What answers are made of. */
export type ServerParts = {
  runtime: Runtime
  findPod(namespace: string, name: string): V1Pod | undefined
  allPods(): readonly V1Pod[]
  clock: Clock
  files: Files
  logger: Logger
  /** CSI drivers of the node. */
  csi?: CsiDoors
  /** To the runtime's own server for conversations. */
  upgrades: UpgradeClient
  /** A conversation in which nothing is said for so long ends; absent: none does. */
  idleStreamMs?: number
}

export type KubeletServerOptions = ServerParts & {
  nodeName: string
  /** Asks who callers are, and what they may do. */
  client: Pick<Client, 'create'>
  access: KubeletAccess
  metrics?: Metrics
  /** Brings figures up to date that are counted when they are asked for. */
  beforeMetrics?(): void
  /** Of probes, which are many: at a path of their own. */
  probeMetrics?: { text(): string }
  /** How full claimed volumes are. */
  volumeMetrics?(): Promise<string>
  /** What is wrong with the agent's main loop, or undefined. */
  syncLoopTrouble?: HealthCheck
  /** What `/configz` shows. */
  configuration?(): object
  /** Logs of containers, conversations with them, and the node's own logs are refused to everybody. */
  hidesContainers?: boolean
  /** Absent: the node's own logs are not shown. */
  nodeLogDirectory?: string
  /** Runs journalctl, so that services of the machine can be asked for; absent where nobody may. */
  logPrograms?: Processes
  /** Figures as agents of old gave them; absent where nobody measures. */
  usage?: UsageSource
  /** Paths beyond the usual ones: `/stats/summary`, `/metrics/resource`, … */
  morePaths?: ReadonlyMap<string, (exchange: HttpExchange, query: URLSearchParams) => void | Promise<void>>
}

/** The times are upstream's defaults where absent. */
export type KubeletAccess = {
  clientAuthorities(): readonly X509Certificate[]
  reviewsTokens: boolean
  allowsAnonymous: boolean
  /** Whoever is known may do everything. */
  allowsEverything: boolean
  tokenLastsMs?: number
  allowedLastsMs?: number
  deniedLastsMs?: number
}

const strangersConnections = 500
const welcomeConnections = 2_500
const mostWelcome = 100

/** The kubelet's own HTTP interface, without the sockets: see `listenForNode`. */
export class KubeletServer {
  readonly #options: KubeletServerOptions
  readonly #authentication: Authentication
  readonly #authorize: Authorize
  readonly #checks: ReadonlyMap<string, HealthCheck>
  /** Addresses that somebody has asked from who may, the latest last. */
  readonly #welcome = new Set<string>()

  constructor(options: KubeletServerOptions) {
    this.#options = options
    const { client, clock, nodeName, access } = options
    const { tokenLastsMs = 120_000, allowedLastsMs = 300_000, deniedLastsMs = 30_000 } = access
    this.#authentication = new Authentication({ ...access, client, clock, tokenLastsMs })
    this.#authorize = access.allowsEverything
      ? async () => true
      : reviewingAuthorization({ nodeName, client, clock, allowedLastsMs, deniedLastsMs })
    this.#checks = new Map<string, HealthCheck>([
      ['ping', () => undefined],
      ['log', () => undefined],
      ['syncloop', options.syncLoopTrouble ?? (() => undefined)],
    ])
  }

  /** Finds out who asks, and whether they may, and answers. */
  handle = (exchange: HttpExchange): void => {
    this.#settle(exchange, async () => {
      const caller = await this.#authentication.callerOf(exchange).catch((error: unknown) => {
        this.#options.logger.warn('failed to authenticate request to the kubelet (TokenReview)', { error: String(error) })
        return undefined
      })
      if (caller === undefined) throw new Refusal(401, 'Unauthorized')
      await this.#mustBeAllowed(caller, exchange)
      this.#welcomeFrom(exchange.connection.remoteAddress)
      await this.#answer(exchange)
    })
  }

  /** How many connections an address may have: whoever has shown that they may ask, as API servers do, has one for each conversation. */
  connectionsFor = (remoteAddress: string): number => (this.#welcome.has(remoteAddress) ? welcomeConnections : strangersConnections)

  /** Answers whoever asks: for callers in the same process. */
  handleTrusted = (exchange: HttpExchange): void => this.#settle(exchange, () => this.#answer(exchange))

  /** What anybody may see, where that is asked for: nothing that changes or shows what containers do. */
  handleReadOnly = (exchange: HttpExchange): void => {
    this.#settle(exchange, async () => {
      const { path } = splitTarget(exchange.target)
      if (!/^\/(?:healthz|pods|metrics|stats)(?:\/|$)/.test(path) || exchange.method !== 'GET')
        throw new Refusal(404, '404: Page Not Found')
      await this.#answer(exchange)
    })
  }

  /** `/healthz` and nothing else. */
  handleHealth = (exchange: HttpExchange): void => {
    this.#settle(exchange, async () => {
      const { path } = splitTarget(exchange.target)
      if (path !== '/healthz' && !path.startsWith('/healthz/')) throw new Refusal(404, '404 page not found\n')
      await this.#answer(exchange)
    })
  }

  #settle(exchange: HttpExchange, answer: () => Promise<void>): void {
    answer()
      .catch((error: unknown) => {
        const text = errorMessage(error)
        if (!(error instanceof Refusal))
          this.#options.logger.warn('request to the kubelet failed', { target: exchange.target, error: text })
        respondText(exchange, error instanceof Refusal ? error.code : 500, text)
      })
      .catch((error: unknown) => this.#options.logger.error('failed to answer request to the kubelet', { error: String(error) }))
  }

  #welcomeFrom(remoteAddress: string): void {
    this.#welcome.delete(remoteAddress)
    this.#welcome.add(remoteAddress)
    if (this.#welcome.size > mostWelcome) this.#welcome.delete(this.#welcome.values().next().value as string)
  }

  async #mustBeAllowed(caller: Caller, { method, target }: HttpExchange): Promise<void> {
    const attributes = nodeAttributes(method, splitTarget(target).path)
    const isAllowed = await this.#authorize(caller, attributes).catch((error: unknown): never => {
      if (error instanceof AuthorizationTrouble)
        this.#options.logger.warn('failed to authorize request to the kubelet (SubjectAccessReview)', { error: String(error.cause) })
      throw new Refusal(500, errorMessage(error))
    })
    if (!isAllowed) throw new Refusal(403, forbiddenText(caller, attributes))
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const { path, query } = splitTarget(exchange.target)
    const options = this.#options
    const { method } = exchange
    const [, root = '', ...rest] = path.split('/').map(decoded)
    const isRead = method === 'GET' || method === 'HEAD'
    const more = options.morePaths?.get(path)
    if (more !== undefined) return more(exchange, query)
    const [namespace = '', name = ''] = rest
    // A uid may stand before the container.
    const [uid = '', container = ''] = rest.length === 4 ? rest.slice(2) : ['', rest[2]]
    const request = { namespace, name, uid, container, query }
    if (options.hidesContainers && debuggingRoots.has(root)) throw new Refusal(405, 'Debug endpoints are disabled.\n')
    switch (root) {
      case 'healthz':
        return health(exchange, path.slice('/healthz'.length), query, this.#checks)
      case 'pods':
        mustBe(isRead && rest.length === 0)
        return pods(exchange, options)
      case 'runningpods':
        mustBe(isRead)
        return runningPods(exchange, options)
      case 'containerLogs':
        mustBe(isRead && rest.length === 3 && container !== '')
        return containerLogs(exchange, request, options)
      case 'exec':
      case 'attach':
        mustBe((isRead || method === 'POST') && rest.length >= 3 && container !== '')
        return root === 'exec' ? exec(exchange, request, options) : attach(exchange, request, options)
      case 'portForward':
        mustBe((isRead || method === 'POST') && rest.length >= 2 && name !== '')
        return portForward(exchange, { ...request, uid: rest[2] ?? '' }, options)
      case 'run':
        mustBe(method === 'POST' && container !== '')
        return run(exchange, request, options)
      case 'metrics':
        if (rest.length === 1 && rest[0] === 'probes') return respondText(exchange, 200, options.probeMetrics?.text() ?? '')
        mustBe(rest.length === 0)
        options.beforeMetrics?.()
        return respondText(exchange, 200, (options.metrics?.text() ?? '') + ((await options.volumeMetrics?.()) ?? ''))
      case 'stats':
        mustBe((isRead || method === 'POST') && options.usage !== undefined)
        return olderStats(exchange, rest, options.usage as UsageSource)
      case 'csi':
        mustBe(method === 'POST' && rest.length === 2 && options.csi !== undefined)
        return csiCall(exchange, rest, query, options.csi as CsiDoors)
      case 'configz':
        return respondJson(exchange, { kubeletconfig: options.configuration?.() ?? {} })
      case 'logs':
        if (options.nodeLogDirectory === undefined) throw new Refusal(405, 'logs endpoint is disabled.\n')
        if (options.logPrograms !== undefined && query.has('query')) {
          const tools = { files: options.files, processes: options.logPrograms, directory: options.nodeLogDirectory }
          return respondText(exchange, 200, await nodeLogQuery(query, tools))
        }
        return nodeLogs(exchange, path.slice('/logs'.length), options.nodeLogDirectory, options.files)
      default:
        throw new Refusal(404, '404: Page Not Found')
    }
  }
}

/** What `enableDebuggingHandlers` is about. */
const debuggingRoots: ReadonlySet<string> = new Set(['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'logs'])

function mustBe(isServed: boolean): void {
  if (!isServed) throw new Refusal(404, '404: Page Not Found')
}

function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf('?')
  return mark < 0
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Refusal(400, 'invalid URL path')
  }
}
