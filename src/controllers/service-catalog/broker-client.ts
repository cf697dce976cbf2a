/** A client of the Open Service Broker API, version 2. */

import { defined } from '#base/defined.ts'
import type { HttpClient } from '#base/http-client.ts'
import { omitEmpty } from '#base/omit-empty.ts'

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
/** Gone: nothing of that name is there, which is how a deprovisioning ends. */
export type OperationState = { state: 'in progress' | 'succeeded' | 'failed' | 'gone'; description?: string; retryAfterMs?: number }
export type Details = { namespace: string; parameters?: object }

/** The broker said no: asking again the same way is of no use. */
export class BrokerRefusal extends Error {
  override name = 'BrokerRefusal'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The broker did not do it, or did not say so: the next time may be better. */
export class BrokerTrouble extends Error {
  override name = 'BrokerTrouble'
  /** Perhaps it has done it. */
  readonly isAmbiguous: boolean

  constructor(message: string, isAmbiguous: boolean) {
    super(message)
    this.isAmbiguous = isAmbiguous
  }
}

export type BrokerClientOptions = { url: string; http: HttpClient; authorization?: string; signal?: AbortSignal }

/** The first with asynchronous bindings. */
const apiVersion = '2.14'
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
  async provision(taken: Taken, details: Details): Promise<Operation> {
    const { namespace } = details
    const body = { ...requestBody(taken, details), organization_guid: namespace, space_guid: namespace }
    return operationOf(await this.#ask('PUT', `${instancePath(taken)}?accepts_incomplete=true`, [200, 201, 202], body))
  }

  /** Another plan, other parameters: what is not given stays as it is. `before` is what the instance was. */
  async update(taken: Taken, before: Taken, details: Details): Promise<Operation> {
    const { namespace } = details
    const { plan_id, ...unchanged } = requestBody(taken, details)
    const body = {
      ...unchanged,
      ...defined({ plan_id: taken.planId === before.planId ? undefined : plan_id }),
      previous_values: {
        ...{ service_id: before.serviceId, plan_id: before.planId },
        ...{ organization_id: namespace, space_id: namespace },
      },
    }
    return operationOf(await this.#ask('PATCH', `${instancePath(taken)}?accepts_incomplete=true`, [200, 202], body))
  }

  /** Of an instance, or of a binding where one is named. */
  async lastOperation(taken: Taken & { bindingId?: string }, operation: string | undefined): Promise<OperationState> {
    const { bindingId } = taken
    const path = bindingId === undefined ? instancePath(taken) : bindingPath({ ...taken, bindingId })
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId, ...omitEmpty({ operation }) })
    const { status, body, retryAfterMs } = await this.#ask('GET', `${path}/last_operation?${query}`, [200, 410])
    if (status === 410) return { state: 'gone' }
    const { state, description } = body
    if (state !== 'in progress' && state !== 'succeeded' && state !== 'failed') {
      throw new BrokerTrouble(`the broker tells of an operation in the state ${JSON.stringify(state)}`, false)
    }
    return { state, ...defined({ description: typeof description === 'string' ? description : undefined, retryAfterMs }) }
  }

  async deprovision(taken: Taken): Promise<Operation> {
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId, accepts_incomplete: 'true' })
    return operationOf(await this.#ask('DELETE', `${instancePath(taken)}?${query}`, [200, 202, 410]))
  }

  /** What users of the instance need to know: an address, a password. */
  async bind(
    taken: TakenBinding,
    details: Details,
    { mayBeAsync }: { mayBeAsync: boolean },
  ): Promise<Operation & { credentials: Credentials }> {
    const [query, good] = mayBeAsync ? ['?accepts_incomplete=true', [200, 201, 202]] : ['', [200, 201]]
    const answer = await this.#ask('PUT', `${bindingPath(taken)}${query}`, good, requestBody(taken, details))
    return { ...operationOf(answer), credentials: credentialsIn(answer) }
  }

  /** For bindings that took their time. */
  async credentials(taken: TakenBinding): Promise<Credentials> {
    return credentialsIn(await this.#ask('GET', bindingPath(taken), [200]))
  }

  async unbind(taken: TakenBinding, { mayBeAsync }: { mayBeAsync: boolean }): Promise<Operation> {
    const incomplete = mayBeAsync ? { accepts_incomplete: 'true' } : {}
    const query = new URLSearchParams({ service_id: taken.serviceId, plan_id: taken.planId, ...incomplete })
    return operationOf(await this.#ask('DELETE', `${bindingPath(taken)}?${query}`, mayBeAsync ? [200, 202, 410] : [200, 410]))
  }

  async #ask(method: string, path: string, good: readonly number[], body?: object): Promise<Answer> {
    const { url, http, authorization, signal } = this.#options
    const headers = {
      'x-broker-api-version': apiVersion,
      accept: 'application/json',
      ...defined({ authorization, 'content-type': body === undefined ? undefined : 'application/json' }),
    }
    const request = {
      url: `${url.replace(/\/$/, '')}${path}`,
      method,
      headers,
      ...defined({ body: body ? JSON.stringify(body) : undefined }),
    }
    const response = await http.request({ ...request, ...defined({ signal }) })
    const text = await response.text(answerLimitBytes)
    const answer = fieldsIn(text)
    if (!good.includes(response.status)) {
      const words = `${method} ${path.split('?')[0]}: the broker answered ${response.status}: ${answer['description'] ?? answer['error'] ?? text.slice(0, 200)}`
      const { status } = response
      const isAmbiguous = status >= 500 || status === 408 || (status > 200 && status < 300)
      // Too busy, too slow and broken brokers may be better the next time.
      if (isAmbiguous || status === 422 || status === 429) throw new BrokerTrouble(words, isAmbiguous)
      throw new BrokerRefusal(status, words)
    }
    const retryAfter = Number(response.headers['retry-after'])
    return { status: response.status, body: answer, ...defined({ retryAfterMs: retryAfter > 0 ? retryAfter * 1000 : undefined }) }
  }
}

type Answer = { status: number; body: Record<string, unknown>; retryAfterMs?: number }

export type TakenBinding = Taken & { bindingId: string }
export type Credentials = Readonly<Record<string, unknown>>

const credentialsIn = ({ body }: Answer): Credentials => (body['credentials'] ?? {}) as Credentials

function requestBody({ serviceId, planId }: Taken, { namespace, parameters }: Details) {
  const context = { platform: 'kubernetes', namespace }
  return { service_id: serviceId, plan_id: planId, context, ...defined({ parameters }) }
}

const instancePath = ({ instanceId }: Taken): string => `/v2/service_instances/${encodeURIComponent(instanceId)}`
const bindingPath = (taken: TakenBinding): string => `${instancePath(taken)}/service_bindings/${encodeURIComponent(taken.bindingId)}`

function operationOf({ status, body }: Answer): Operation {
  return {
    isAsync: status === 202,
    ...defined({
      operation: typeof body['operation'] === 'string' ? body['operation'] : undefined,
      dashboardUrl: typeof body['dashboard_url'] === 'string' ? body['dashboard_url'] : undefined,
    }),
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
