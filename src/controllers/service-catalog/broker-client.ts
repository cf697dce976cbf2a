/** A client of the Open Service Broker API, version 2. */
import type { HttpClient } from '#base/http-client.ts'

export type BrokerPlan = {
  id: string
  name: string
  description?: string
  free?: boolean
  bindable?: boolean
  metadata?: Record<string, unknown>
  schemas?: {
    service_instance?: { create?: { parameters?: Record<string, unknown> } }
    service_binding?: { create?: { parameters?: Record<string, unknown> } }
  }
}
export type BrokerService = {
  id: string
  name: string
  description?: string
  bindable?: boolean
  plan_updateable?: boolean
  bindings_retrievable?: boolean
  tags?: string[]
  requires?: string[]
  metadata?: Record<string, unknown>
  plans?: BrokerPlan[]
}

/** What an operation is about. */
export type Taken = { instanceId: string; serviceId: string; planId: string }
/** Over, or under way: then `lastOperation` tells. */
export type Operation = { isAsync: boolean; operation?: string; dashboardUrl?: string }
export type OperationState = { state: 'in progress' | 'succeeded' | 'failed'; description?: string; retryAfterMs?: number }

/** The broker said no: asking again the same way is of no use. */
export class BrokerRefusal extends Error {
  override name = 'BrokerRefusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export type BrokerClientOptions = { url: string; http: HttpClient; authorization?: string; signal?: AbortSignal }

const apiVersion = '2.13'
const answerLimitBytes = 4 << 20

export class BrokerClient {
  readonly #options: BrokerClientOptions

  constructor(options: BrokerClientOptions) {
    this.#options = options
  }

  async catalog(): Promise<BrokerService[]> {
    const { body } = await this.#ask('GET', '/v2/catalog', [200])
    if (!Array.isArray(body['services'])) throw new Error('the catalog of the broker has no services')
    return body['services'] as BrokerService[]
  }

  /** The same instance may be asked for again: a broker that has it answers as if it were made now. */
  async provision(taken: Taken, details: { namespace: string; parameters?: object }): Promise<Operation> {
    const { serviceId: service_id, planId: plan_id } = taken
    const { namespace, parameters } = details
    const context = { platform: 'kubernetes', namespace }
    const body = {
      service_id,
      plan_id,
      context,
      organization_guid: namespace,
      space_guid: namespace,
      ...(parameters ? { parameters } : {}),
    }
    return operationOf(await this.#ask('PUT', `${instancePath(taken)}?accepts_incomplete=true`, [200, 201, 202], body))
  }

  async lastOperation(taken: Taken, operation: string | undefined): Promise<OperationState> {
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId, ...(operation ? { operation } : {}) })
    // Gone: the end of a deprovisioning.
    const { status, body, retryAfterMs } = await this.#ask('GET', `${instancePath(taken)}/last_operation?${query}`, [200, 410])
    if (status === 410) return { state: 'succeeded' }
    return { ...(body as OperationState), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  }

  async deprovision(taken: Taken): Promise<Operation> {
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId, accepts_incomplete: 'true' })
    return operationOf(await this.#ask('DELETE', `${instancePath(taken)}?${query}`, [200, 202, 410]))
  }

  /** What users of the instance need to know: an address, a password. */
  async bind(taken: Taken & { bindingId: string }, details: { namespace: string; parameters?: object }): Promise<Record<string, unknown>> {
    const context = { platform: 'kubernetes', namespace: details.namespace }
    const body = {
      service_id: taken.serviceId,
      plan_id: taken.planId,
      context,
      ...(details.parameters ? { parameters: details.parameters } : {}),
    }
    const { body: answer } = await this.#ask('PUT', bindingPath(taken), [200, 201], body)
    return (answer['credentials'] ?? {}) as Record<string, unknown>
  }

  async unbind(taken: Taken & { bindingId: string }): Promise<void> {
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId })
    await this.#ask('DELETE', `${bindingPath(taken)}?${query}`, [200, 410])
  }

  async #ask(method: string, path: string, good: readonly number[], body?: object): Promise<Answer> {
    const { url, http, authorization, signal } = this.#options
    const headers = {
      'x-broker-api-version': apiVersion,
      accept: 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const request = { url: `${url.replace(/\/$/, '')}${path}`, method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
    const response = await http.request({ ...request, ...(signal ? { signal } : {}) })
    const text = await response.text(answerLimitBytes)
    const answer = fieldsIn(text)
    if (!good.includes(response.status)) {
      const words = `${method} ${path.split('?')[0]}: the broker answered ${response.status}: ${answer['description'] ?? answer['error'] ?? text.slice(0, 200)}`
      // Too busy, too slow and broken brokers may be better the next time.
      if (response.status >= 500 || [408, 422, 429].includes(response.status)) throw new Error(words)
      throw new BrokerRefusal(response.status, words)
    }
    const retryAfter = Number(response.headers['retry-after'])
    return { status: response.status, body: answer, ...(retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}) }
  }
}

type Answer = { status: number; body: Record<string, unknown>; retryAfterMs?: number }

const instancePath = ({ instanceId }: Taken): string => `/v2/service_instances/${encodeURIComponent(instanceId)}`
const bindingPath = (taken: Taken & { bindingId: string }): string =>
  `${instancePath(taken)}/service_bindings/${encodeURIComponent(taken.bindingId)}`

function operationOf({ status, body }: Answer): Operation {
  return {
    isAsync: status === 202,
    ...(typeof body['operation'] === 'string' ? { operation: body['operation'] } : {}),
    ...(typeof body['dashboard_url'] === 'string' ? { dashboardUrl: body['dashboard_url'] } : {}),
  }
}

/** Refusals need not be JSON. */
function fieldsIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text || '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
