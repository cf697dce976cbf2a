/** What one command line needs of a cluster, each part made when it is first needed. */
import { join } from 'node:path'
import { parseDurationMs } from '#base/duration.ts'
import { trimEndOf } from '#base/trim-end.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Flags } from '#cli/flags/flags.ts'
import type { Host } from '#cli/host.ts'
import { kubectlVersion } from '#cli/kubectl-version.ts'
import { connect, tlsOf } from '#client/kubeconfig/connect.ts'
import type { RequestLog } from './request-log.ts'
import { type ResolvedContext, resolveContext } from './resolve-context.ts'
import { ResourceTypes } from './resource-types.ts'
import { Rest } from './rest.ts'
import { ServedResources } from './served-resources.ts'

export class Session {
  readonly #flags: Flags
  readonly #host: Host
  readonly #commandPath: string
  #context: Promise<ResolvedContext> | undefined
  #rest: Promise<Rest> | undefined
  #types: Promise<ResourceTypes> | undefined
  #warnings = 0
  readonly #printedWarnings = new Set<string>()

  constructor(flags: Flags, host: Host, commandPath: string) {
    this.#flags = flags
    this.#host = host
    this.#commandPath = commandPath
  }

  get context(): Promise<ResolvedContext> {
    this.#context ??= this.#resolve()
    return this.#context
  }

  async #resolve(): Promise<ResolvedContext> {
    const context = await resolveContext(this.#flags, this.#host)
    for (const path of context.paths) (await this.log())?.say(6, 'loader.go:407', `Config loaded from file:  ${path}`)
    return context
  }

  /** Undefined unless `-v` asks for more than nothing. */
  async log(): Promise<RequestLog | undefined> {
    const level = this.#flags.number('v')
    if (!(level > 0)) return undefined
    const { RequestLog } = await import('./request-log.ts')
    return new RequestLog(this.#host, level)
  }

  get rest(): Promise<Rest> {
    this.#rest ??= this.#connect()
    return this.#rest
  }

  get types(): Promise<ResourceTypes> {
    this.#types ??= this.rest.then(
      (rest) =>
        new ResourceTypes(new ServedResources({ host: this.#host, rest, cacheDirectory: this.#cacheDirectory }), (text) => this.warn(text)),
    )
    return this.#types
  }

  async namespace(): Promise<string> {
    return (await this.context).namespace
  }

  /** How many warnings the server sent. */
  get warnings(): number {
    return this.#warnings
  }

  warn(text: string): void {
    this.#warnings++
    if (this.#printedWarnings.has(text)) return
    this.#printedWarnings.add(text)
    this.#host.complain(`Warning: ${text}\n`)
  }

  get #cacheDirectory(): string {
    if (this.#flags.isSet('cache-dir')) return this.#flags.text('cache-dir')
    return this.#host.environment['KUBECACHEDIR'] || join(this.#host.homeDirectory, '.kube', 'cache')
  }

  async #connect(): Promise<Rest> {
    const { files, processes, clock, http } = this.#host
    const context = await this.context
    const log = await this.log()
    if (context.user.exec !== undefined) {
      const { checkCredentialPlugin } = await import('#cli/kuberc.ts')
      const chosen = this.#flags.text('kuberc')
      await checkCredentialPlugin(context.user.exec.command, chosen === '' ? [] : [`--kuberc=${chosen}`], this.#host)
    }
    const transport = await connect(context, {
      files,
      processes,
      clock,
      http: (options) => (log === undefined ? http(options) : log.around(http(options))),
      keepProvider: (config) => this.#keepProvider(config),
    })
    const { patientTransport } = await import('./patient-transport.ts')
    const say = async (level: number, place: string, text: string) => {
      if (log !== undefined) log.say(level, place, text)
      else if (level === 0) new (await import('./request-log.ts')).RequestLog(this.#host, 0).say(0, place, text)
    }
    const rest = new Rest({
      transport: patientTransport({ transport, server: trimEndOf(context.cluster.server, '/'), clock, say }),
      server: context.cluster.server,
      userAgent: `kubectl/${kubectlVersion} (linux/amd64) kubernetes/typernetes`,
      timeoutMs: timeoutMs(this.#flags.text('request-timeout')),
      headers: { 'kubectl-command': `kubectl ${this.#commandPath}` },
      onWarning: (text) => this.warn(text),
    })
    if (this.#flags.isOn('match-server-version')) {
      const { requireSameVersion } = await import('./same-version.ts')
      await requireSameVersion(rest)
    }
    return rest
  }

  /** New tokens go to where the old ones were: a refresh token may be good for one use only. */
  async #keepProvider(config: Readonly<Record<string, string>>): Promise<void> {
    const { userEntry } = await this.context
    if (userEntry === undefined || userEntry.path === '') return
    const { changeFile, setEntry } = await import('#cli/config/edit-config.ts')
    await changeFile({ host: this.#host }, userEntry.path, (raw) => {
      const entries = (raw['users'] as { name: string; user?: Record<string, unknown> }[] | null | undefined) ?? []
      const user = entries.find(({ name }) => name === userEntry.name)?.user ?? {}
      setEntry(raw, 'users', userEntry.name, { ...user, 'auth-provider': { ...(user['auth-provider'] as object | undefined), config } })
    })
  }

  /** For connections that change their protocol: how to reach the server, and the headers that say who asks. */
  async upgradeTarget(): Promise<{ server: string; tls: ReturnType<typeof tlsOf>; headers: Record<string, string | string[]> }> {
    const { cluster, user } = await this.context
    const { files, processes, clock } = this.#host
    let headers: Record<string, string | string[]> = {}
    let tls = tlsOf(cluster, user.certificate, user.key)
    // The transport knows how credentials are got: what it would send is what we send.
    const caught = await connect(
      { name: '', namespace: '', cluster, user },
      {
        files,
        processes,
        clock,
        http: (options) => {
          tls = options
          return {
            async request({ headers: given = {} }) {
              headers = given
              return { status: 200, headers: {}, body: (async function* () {})(), text: async () => '' }
            },
            [Symbol.dispose]() {},
          }
        },
      },
    )
    await caught.send({ method: 'GET', target: '/', headers: {} })
    return { server: trimEndOf(cluster.server, '/'), tls, headers }
  }
}

function timeoutMs(text: string): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000
  try {
    return parseDurationMs(text)
  } catch {
    throw new CliError(
      `Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)`,
    )
  }
}
