import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import { RequestContext } from '#apiserver/http/context.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { attemptedCredentials } from './attempted-credentials.ts'
import { type AuditLevel, AuditPolicy } from './audit-policy.ts'
import type { AuditedRequest } from './audited-request.ts'
import { Auditor } from './auditor.ts'
import { WebhookBackend } from './webhook-backend.ts'

const user = { name: 'jane', uid: '7', groups: ['g'], extra: { scopes: ['a'] } }

type Sent = { method?: string; target?: string; headers?: Record<string, string> }

async function contextOf({ method = 'POST', target = '/api/v1/namespaces/a/configmaps', headers = {} }: Sent): Promise<RequestContext> {
  const connection = { remoteAddress: '::ffff:10.0.0.9', localAddress: '', clientCertificate: undefined, memo: undefined }
  const found = Promise.withResolvers<RequestContext>()
  void inProcess((exchange) => {
    const [path = '', search = ''] = target.split('?')
    const query = new URLSearchParams(search)
    found.resolve(new RequestContext(exchange, requestInfo(method, path, query), query, user))
  }, connection)({ method, target, headers })
  return found.promise
}

async function audited(
  level: AuditLevel,
  sent: Sent,
  play: (request: AuditedRequest, context: RequestContext) => void,
  omitManagedFields = false,
) {
  const clock = new VirtualClock('2026-01-31T12:00:00Z')
  const events: V1Event[] = []
  const backend = { name: 'test', process: (event: V1Event) => void events.push(structuredClone(event)), close: async () => {} }
  const policy = new AuditPolicy([{ level }], { omitStages: [], omitManagedFields })
  const auditor = new Auditor({ policy, backends: [backend], clock, metrics: new Metrics() })
  const context = await contextOf(sent)
  const request = auditor.begin(context, 'id', clock.nowMicros())
  if (request) play(request, context)
  return events
}

const configMap = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'b', managedFields: [{ manager: 'm' }] } }
const json = JSON.stringify(configMap)

function created(request: AuditedRequest, context: RequestContext): void {
  request.received()
  context.annotateAudit('authorization.k8s.io/decision', 'allow')
  request.requestBody(Buffer.from(json))
  request.answered(201, 'application/json', json, false)
  request.completed(false)
}

test('notes about the content are left out where the content is', async () => {
  const noted = (request: AuditedRequest, context: RequestContext) => {
    context.annotateAudit('plain', 'a')
    context.annotateAudit('patch', 'secret', 'Request')
    created(request, context)
  }
  const annotationsAt = async (level: AuditLevel) => Object.keys((await audited(level, {}, noted)).at(-1)?.annotations ?? {})
  assert.deepEqual(await annotationsAt('Metadata'), ['plain', 'authorization.k8s.io/decision'])
  assert.deepEqual(await annotationsAt('Request'), ['plain', 'authorization.k8s.io/decision', 'patch'])
  assert.deepEqual(await annotationsAt('RequestResponse'), ['plain', 'authorization.k8s.io/decision', 'patch'])
})

test('level None records nothing', async () => {
  assert.deepEqual(await audited('None', {}, created), [])
})

test('level Metadata tells who did what to which object, and what came of it', async () => {
  const [received, complete, ...rest] = await audited('Metadata', { headers: { 'user-agent': 'kubectl' } }, created)
  assert.equal(rest.length, 0)
  assert.equal(received?.stage, 'RequestReceived')
  assert.deepEqual(complete, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'id',
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/a/configmaps',
    verb: 'create',
    user: { username: 'jane', uid: '7', groups: ['g'], extra: { scopes: ['a'] } },
    sourceIPs: ['10.0.0.9'],
    userAgent: 'kubectl',
    objectRef: { resource: 'configmaps', namespace: 'a', name: 'b', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    requestReceivedTimestamp: '2026-01-31T12:00:00.000000Z',
    stageTimestamp: '2026-01-31T12:00:00.000000Z',
    annotations: { 'authorization.k8s.io/decision': 'allow' },
  })
})

test('level Request adds what was sent, level RequestResponse what was answered', async () => {
  const [, request] = await audited('Request', {}, created)
  assert.deepEqual([request?.requestObject, request?.responseObject], [configMap, undefined])
  const [, both] = await audited('RequestResponse', {}, created)
  assert.deepEqual([both?.requestObject, both?.responseObject], [configMap, configMap])
})

test('managed fields are left out where the policy says so, in objects, lists and tables', async () => {
  const bare = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'b' } }
  const [, complete] = await audited('RequestResponse', {}, created, true)
  assert.deepEqual([complete?.requestObject, complete?.responseObject], [bare, bare])
  const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: {}, items: [configMap] }
  const [, listed] = await audited(
    'RequestResponse',
    { method: 'GET' },
    (request) => {
      request.received()
      request.answered(200, 'application/json', undefined, false)
      const text = JSON.stringify(list)
      request.chunk(text.slice(0, 10))
      request.chunk(Buffer.from(text.slice(10)))
      request.completed(false)
    },
    true,
  )
  assert.deepEqual(listed?.responseObject, { ...list, items: [bare] })
})

test('a long-running request has an event for its start and one for its end', async () => {
  const events = await audited('Metadata', { method: 'GET', target: '/api/v1/pods?watch=true' }, (request) => {
    request.received()
    request.answered(200, 'application/json', undefined, true)
    request.completed(true)
  })
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
  )
})

test('a failure is recorded with its reason', async () => {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'no',
    reason: 'Forbidden',
    details: { kind: 'pods' },
    code: 403,
  }
  const events = await audited('Metadata', {}, (request) => {
    request.answered(403, 'application/json', JSON.stringify(status), false)
    request.completed(false)
  })
  const { status: outcome, message, reason, details, code } = status
  assert.deepEqual(events[0]?.responseStatus, { metadata: {}, status: outcome, message, reason, details, code })
})

test('a crash is a stage of its own', async () => {
  const events = await audited('Metadata', {}, (request) => {
    request.received()
    request.failed(new Error('nil map'))
    request.answered(500, 'application/json', '', false)
    request.completed(false)
  })
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'Panic'],
  )
  assert.equal(events[1]?.responseStatus?.message, "APIServer panic'd: nil map")
})

test('a client that went away early is recorded as such', async () => {
  const events = await audited('Metadata', {}, (request) => request.completed(false))
  assert.equal(events[0]?.responseStatus?.message, 'Connection closed early')
})

test('whoever was not let in is recorded with what they tried', async () => {
  const attempts: [headers: Record<string, string>, text: string][] = [
    [{}, 'Authentication failed, no credentials provided'],
    [{ authorization: 'Bearer x' }, 'Authentication failed, attempted: bearer'],
    [{ authorization: 'Basic x' }, 'Authentication failed, attempted: basic'],
  ]
  for (const [headers, text] of attempts) {
    const events = await audited('Metadata', { headers }, (request, context) => {
      request.notIdentified(attemptedCredentials(context))
      request.answered(401, 'application/json', '{}', false)
      request.completed(false)
    })
    assert.deepEqual(
      events.map(({ stage, responseStatus }) => [stage, responseStatus]),
      [['ResponseStarted', { metadata: {}, message: text, code: 401 }]],
    )
  }
})

test('proxies are believed about where a request comes from', async () => {
  const events = await audited('Metadata', { headers: { 'x-forwarded-for': '1.2.3.4, 5.6.7.8' } }, (request) => request.received())
  assert.deepEqual(events[0]?.sourceIPs, ['1.2.3.4', '5.6.7.8', '10.0.0.9'])
})

const event = (auditID: string) => ({ auditID }) as V1Event

test('the webhook gets events in batches: when there are many, and when the first has waited long enough', async () => {
  const clock = new VirtualClock()
  const sent: string[][] = []
  const send = async (list: string) => void sent.push((JSON.parse(list) as { items: V1Event[] }).items.map(({ auditID }) => auditID))
  const webhook = new WebhookBackend({ send, clock, logger: recordingLogger([]), onError() {}, batchSize: 3, batchWaitMs: 1000 })
  for (const id of ['a', 'b', 'c', 'd']) webhook.process(event(id))
  assert.deepEqual(sent, [['a', 'b', 'c']])
  await clock.advance(999)
  assert.equal(sent.length, 1)
  await clock.advance(1)
  assert.deepEqual(sent[1], ['d'])
  webhook.process(event('e'))
  await webhook.close()
  assert.deepEqual(sent[2], ['e'])
})

test('what the webhook does not take is counted and given up', async () => {
  const clock = new VirtualClock()
  let lost = 0
  const failing = new WebhookBackend({
    send: () => Promise.reject(new Error('busy')),
    clock,
    logger: recordingLogger([]),
    onError: () => lost++,
    batchSize: 2,
    bufferSize: 3,
    concurrency: 1,
  })
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) failing.process(event(id))
  assert.equal(lost, 1, 'beyond the buffer')
  await failing.close()
  assert.equal(lost, 6)
})

test('events that wait for the webhook, and those sent together, are bounded in size', async () => {
  const clock = new VirtualClock()
  let lost = 0
  const sent: number[] = []
  const webhook = new WebhookBackend({
    send: async (list) => void sent.push((JSON.parse(list) as { items: V1Event[] }).items.length),
    clock,
    logger: recordingLogger([]),
    onError: () => lost++,
    bufferCharacters: 5000,
    batchCharacters: 2500,
    concurrency: 1,
  })
  const large = { ...event('a'), requestObject: { fill: 'x'.repeat(1000) } as never }
  for (let index = 0; index < 10; index++) webhook.process(large)
  assert.equal(lost, 3, 'two are on their way, five wait')
  await webhook.close()
  assert.deepEqual(sent, [2, 2, 2, 1])
  assert.equal(lost, 3)
})

test('large YAML is left out as well, large JSON is not', async () => {
  const sent = (body: string) => (request: AuditedRequest) => {
    request.requestBody(Buffer.from(body))
    request.completed(false)
  }
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const [yaml] = await audited('Request', { method: 'PATCH', headers }, sent(`a:\n${'- abc\n'.repeat(200_000)}`))
  assert.deepEqual([yaml?.requestObject, yaml?.annotations?.['audit.k8s.io/truncated']], [undefined, 'true'])
  const list = { a: Array(200_000).fill('abc') }
  const [json] = await audited('Request', { method: 'PATCH', headers }, sent(JSON.stringify(list)))
  assert.deepEqual(json?.requestObject, list)
})

test('an answer of many megabytes is left out of its event, which says so', async () => {
  const [, listed] = await audited('RequestResponse', { method: 'GET' }, (request) => {
    request.received()
    request.answered(200, 'application/json', undefined, false)
    for (let index = 0; index < 10; index++) request.chunk(`${index === 0 ? '{"a":"' : ''}${'x'.repeat(1 << 20)}`)
    request.completed(false)
  })
  assert.equal(listed?.responseObject, undefined)
  assert.equal(listed?.annotations?.['audit.k8s.io/truncated'], 'true')
})
