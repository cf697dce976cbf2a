/** /livez, /readyz and /healthz: named checks, all or one by one. */
import type { RequestContext } from '#apiserver/http/context.ts'

export type HealthCheck = {
  name: string /** Throws, or resolves to a sentence, when all is not well. */
  run(): string | undefined | Promise<string | undefined>
}

export class HealthChecks {
  readonly #checks: Record<'livez' | 'readyz' | 'healthz', HealthCheck[]> = { livez: [], readyz: [], healthz: [] }

  add(check: HealthCheck, kinds: readonly ('livez' | 'readyz' | 'healthz')[] = ['livez', 'readyz', 'healthz']): void {
    for (const kind of kinds) this.#checks[kind].push(check)
  }

  /** Answers `/readyz`, `/readyz?verbose&exclude=etcd` and `/readyz/etcd`. */
  async respond(context: RequestContext, kind: 'livez' | 'readyz' | 'healthz', only: string): Promise<void> {
    const { query, exchange } = context
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
    const checks = this.#checks[kind]
    if (only !== '') {
      const check = checks.find(({ name }) => name === only)
      if (check === undefined) return exchange.respond(404, headers, '404 page not found\n')
      const problem = await problemOf(check)
      if (problem === undefined) return exchange.respond(200, headers, 'ok')
      return exchange.respond(500, headers, `internal server error: ${problem}\n`)
    }
    const excluded = new Set(query.getAll('exclude'))
    const lines: string[] = []
    const failed: string[] = []
    for (const check of checks) {
      if (excluded.delete(check.name)) {
        lines.push(`[+]${check.name} excluded: ok`)
        continue
      }
      const problem = await problemOf(check)
      if (problem === undefined) lines.push(`[+]${check.name} ok`)
      else {
        failed.push(check.name)
        lines.push(`[-]${check.name} failed: reason withheld`)
      }
    }
    if (excluded.size > 0) {
      lines.push(
        `warn: some health checks cannot be excluded: no matches for ${[...excluded].map((name) => JSON.stringify(name)).join(', ')}`,
      )
    }
    if (failed.length > 0) return exchange.respond(500, headers, `${lines.join('\n')}\n${kind} check failed\n`)
    exchange.respond(200, headers, query.has('verbose') ? `${lines.join('\n')}\n${kind} check passed\n` : 'ok')
  }
}

async function problemOf(check: HealthCheck): Promise<string | undefined> {
  try {
    return await check.run()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
