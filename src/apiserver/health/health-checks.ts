/** /livez, /readyz and /healthz: named checks, all or one by one. */

import type { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'

export type HealthCheck = {
  name: string
  /** Excluding this excludes all checks of the group. */
  group?: string
  /** Throws, or resolves to a sentence, when all is not well. */
  run(): string | undefined | Promise<string | undefined>
}

export type HealthPath = 'livez' | 'readyz' | 'healthz'

const everywhere: readonly HealthPath[] = ['livez', 'readyz', 'healthz']
const headers = () => ({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })

export class HealthChecks {
  readonly #checks: Record<HealthPath, HealthCheck[]> = { livez: [], readyz: [], healthz: [] }
  readonly #metrics: HealthcheckMetrics
  readonly #logger: Logger

  constructor({ metrics, logger }: { metrics: HealthcheckMetrics; logger: Logger }) {
    this.#metrics = metrics
    this.#logger = logger
  }

  add(check: HealthCheck, paths = everywhere): void {
    for (const path of paths) this.#checks[path].push(check)
  }

  /** Of all checks, together and one by one. */
  paths(): string[] {
    return everywhere.flatMap((path) => [`/${path}`, ...this.#checks[path].map(({ name }) => `/${path}/${name}`)])
  }

  /** Answers `/readyz`, `/readyz?verbose&exclude=etcd` and `/readyz/etcd`. */
  async respond(context: RequestContext, path: HealthPath, only: string): Promise<void> {
    const { query, exchange } = context
    const checks = this.#checks[path]
    if (only !== '') {
      const check = checks.find(({ name }) => name === only)
      if (check === undefined) return exchange.respond(404, headers(), '404 page not found\n')
      const problem = await problemOf(check)
      if (problem === undefined) return exchange.respond(200, headers(), 'ok')
      return exchange.respond(500, headers(), `internal server error: ${problem}\n`)
    }
    const { lines, hasPassed } = await this.#runAll(path, new Set(query.getAll('exclude')))
    if (!hasPassed) return exchange.respond(500, headers(), `${lines.join('\n')}\n${path} check failed\n`)
    exchange.respond(200, headers(), query.has('verbose') ? `${lines.join('\n')}\n${path} check passed\n` : 'ok')
  }

  async #runAll(path: HealthPath, excluded: ReadonlySet<string>): Promise<{ lines: string[]; hasPassed: boolean }> {
    const unknown = new Set(excluded)
    const lines: string[] = []
    let hasPassed = true
    for (const check of this.#checks[path]) {
      const { name, group = name } = check
      unknown.delete(excluded.has(name) ? name : group)
      if (excluded.has(name)) lines.push(`[+]${name} excluded: ok`)
      else if (excluded.has(group)) lines.push(`[+]${name} excluded with ${group}: ok`)
      else {
        const problem = await problemOf(check)
        this.#metrics.observe(name, path, problem === undefined)
        // Why is for the log: whoever asks here may be anybody.
        lines.push(problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`)
        if (problem === undefined) continue
        hasPassed = false
        this.#logger.info(`${path} check failed`, { check: name, error: problem })
      }
    }
    if (unknown.size > 0) {
      const names = [...unknown].sort().map((name) => JSON.stringify(name))
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(',')}`)
    }
    return { lines, hasPassed }
  }
}

async function problemOf(check: HealthCheck): Promise<string | undefined> {
  try {
    return await check.run()
  } catch (error) {
    return errorMessage(error)
  }
}
