/** `/healthz`: whether the agent is well, as a whole and check by check. */
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal, respondText } from '#kubelet/server/refusal.ts'

/** What is wrong, or undefined. */
export type HealthCheck = () => string | undefined

/** `path` is what follows `/healthz`. */
export function health(exchange: HttpExchange, path: string, query: URLSearchParams, checks: ReadonlyMap<string, HealthCheck>): void {
  const name = path.replace(/^\//, '')
  if (name !== '') {
    const check = checks.get(name)
    if (check === undefined) throw new Refusal(404, '404 page not found\n')
    const trouble = check()
    if (trouble !== undefined) throw new Refusal(500, `internal server error: ${trouble}\n`)
    respondText(exchange, 200, 'ok')
    return
  }
  const results = [...checks].map(([each, check]) => [each, check()] as const)
  const lines = results.map(([each, trouble]) => (trouble === undefined ? `[+]${each} ok\n` : `[-]${each} failed: reason withheld\n`))
  if (results.some(([, trouble]) => trouble !== undefined)) throw new Refusal(500, `${lines.join('')}healthz check failed\n`)
  respondText(exchange, 200, query.has('verbose') ? `${lines.join('')}healthz check passed\n` : 'ok')
}
