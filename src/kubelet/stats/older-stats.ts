/** `/stats`, `/stats/container`, `/stats/{pod}/{container}` and `/stats/{namespace}/{pod}/{uid}/{container}`: figures as agents of old gave them. */
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal, respondJson } from '#kubelet/server/refusal.ts'
import { infosBelow, machineInfo, podContainerInfo } from '#kubelet/stats/container-info.ts'
import type { UsageSource } from '#kubelet/stats/usage.ts'

const largestRequestBytes = 64 * 1024

/** `rest` is what follows `/stats`, part by part. */
export async function olderStats(exchange: HttpExchange, rest: readonly string[], source: UsageSource): Promise<void> {
  const parts = rest.filter((part) => part !== '')
  const usage = await source.collect({ detail: 'all' })
  if (parts.length === 0) return respondJson(exchange, machineInfo(usage))
  if (parts.length === 1 && parts[0] === 'container') {
    const { containerName = '/', subcontainers = false } = await requestIn(exchange)
    const found = infosBelow(usage, containerName, subcontainers)
    if (Object.keys(found).length === 0) throw new Refusal(404, `unknown container "${containerName}"`)
    return respondJson(exchange, found)
  }
  const [namespace, podName, uid, containerName] = parts.length === 2 ? ['default', parts[0], '', parts[1]] : parts
  if (parts.length !== 2 && parts.length !== 4) throw new Refusal(404, `unknown resource: ${JSON.stringify(parts)}`)
  const pod = usage.pods.find((each) => each.name === podName && each.namespace === namespace && (uid === '' || each.uid === uid))
  if (pod === undefined) throw new Refusal(404, 'pod not found')
  const container = pod.containers.find(({ name }) => name === containerName)
  if (container === undefined) throw new Refusal(404, 'container not found')
  respondJson(exchange, podContainerInfo(pod, container))
}

type StatsRequest = { containerName?: string; subcontainers?: boolean }

async function requestIn(exchange: HttpExchange): Promise<StatsRequest> {
  if (exchange.method === 'GET') return {}
  const body = await exchange.readBody(largestRequestBytes)
  if (body.byteLength === 0) return {}
  try {
    return JSON.parse(Buffer.from(body).toString()) as StatsRequest
  } catch {
    throw new Refusal(400, 'the body of the request is no JSON')
  }
}
