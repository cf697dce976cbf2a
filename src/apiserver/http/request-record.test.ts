import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { AuditPolicy } from '#apiserver/audit/audit-policy.ts'
import { Auditor } from '#apiserver/audit/auditor.ts'
import { MeasuredCosts } from '#apiserver/fair-use/measured-costs.ts'
import { FlowControl } from '#apiserver/flow-control/flow-control.ts'
import { FlowMetrics } from '#apiserver/flow-control/flow-metrics.ts'
import { AccessMetrics } from '#apiserver/metrics/access-metrics.ts'
import { RequestMetrics } from '#apiserver/metrics/request-metrics.ts'
import { defined } from '#base/defined.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { ApiHandler, type Endpoint } from './handler.ts'
import { inProcess } from './in-process-exchange.ts'

const level: V1PriorityLevelConfiguration = {
  metadata: { name: 'only', uid: 'level-uid' },
  spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
}
const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }
const schema: V1FlowSchema = {
  metadata: { name: 'all', uid: 'schema-uid' },
  spec: {
    priorityLevelConfiguration: { name: 'only' },
    rules: [{ subjects: [{ kind: 'Group', group: { name: '*' } }], resourceRules: [everything] }],
  },
}

/** A server with one seat, whose users are called as their token, and whose only endpoint is given. */
function server(endpoint: Endpoint, serverSeats = 1) {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const events: V1Event[] = []
  const logged: LogRecord[] = []
  const logger = recordingLogger(logged)
  const flowControl = new FlowControl({ clock, metrics: new FlowMetrics(metrics), serverSeats, waitLimitMs: 1000 })
  flowControl.configure([schema], [level])
  const backend = { name: 'test', process: (event: V1Event) => void events.push(event), close: async () => {} }
  const policy = new AuditPolicy([{ level: 'Metadata' }], { omitStages: [], omitManagedFields: false })
  const handler = new ApiHandler({
    authenticator: {
      authenticate({ headers }) {
        const name = /^Bearer (.+)$/.exec(String(headers['authorization']))?.[1]
        return name === undefined ? undefined : { user: { name, groups: [], extra: {} } }
      },
    },
    authorizer: { authorize: ({ user }) => ({ decision: user.name === 'stranger' ? 'noOpinion' : 'allow', reason: 'because' }) },
    route: () => endpoint,
    logger,
    clock,
    records: {
      clock,
      random: seededRandom(1),
      logger,
      requests: new RequestMetrics({ metrics, isServed: () => true }),
      access: new AccessMetrics(metrics),
      auditor: new Auditor({ policy, backends: [backend], clock, metrics }),
      flowControl,
      objectCount: () => 0,
      costs: new MeasuredCosts(clock),
    },
  })
  const connection = { remoteAddress: '10.0.0.1', localAddress: '', clientCertificate: undefined, memo: undefined }
  const send = inProcess(handler.handle, connection)
  const get = (user: string, target = '/api/v1/namespaces/a/pods/b', headers: Record<string, string> = {}) =>
    send({ method: 'GET', target, headers: { ...defined({ authorization: user === '' ? undefined : `Bearer ${user}` }), ...headers } })
  return { clock, metrics, events, logged, flowControl, get }
}

const ok: Endpoint = ({ exchange }) => exchange.respond(200, { 'content-type': 'application/json' }, '{}')

test('answers carry the id of their audit events and what decided on their priority', async () => {
  const { get, events } = server(ok)
  const { headers } = await get('jane')
  assert.equal(headers['audit-id'], events[0]?.auditID)
  assert.match(String(headers['audit-id']), /^[0-9a-f-]{36}$/)
  assert.equal(headers['x-kubernetes-pf-flowschema-uid'], 'schema-uid')
  assert.equal(headers['x-kubernetes-pf-prioritylevel-uid'], 'level-uid')
})

test('an id that the client chose is kept', async () => {
  const { get, events } = server(ok)
  const { headers } = await get('jane', undefined, { 'audit-id': 'mine' })
  assert.equal(headers['audit-id'], 'mine')
  assert.deepEqual(
    events.map(({ auditID }) => auditID),
    ['mine', 'mine'],
  )
})

test('whoever finds no seat is told to come back later', async () => {
  const finish = Promise.withResolvers<void>()
  const { get, metrics, flowControl, clock } = server(async ({ exchange }) => {
    await finish.promise
    exchange.respond(200, {}, '{}')
  })
  const first = get('jane')
  const { status, headers, body } = await get('john')
  assert.equal(status, 429)
  assert.equal(headers['retry-after'], '1')
  assert.equal(headers['x-kubernetes-pf-flowschema-uid'], 'schema-uid')
  assert.equal(Buffer.from(body ?? []).toString(), 'Too many requests, please try again later.\n')
  finish.resolve()
  assert.equal((await first).status, 200)
  await clock.advance(0)
  assert.equal(flowControl.levels.get('only')?.seatsInUse, 0)
  assert.match(metrics.text(), /apiserver_request_total\{code="429",/)
})

test('a client whose request held up others takes more seats with the next one of its kind; nobody else does', async () => {
  const finish = Promise.withResolvers<void>()
  let isFirst = true
  const { get, flowControl } = server(async (context) => {
    if (isFirst) context.heldMs += 70
    else await finish.promise
    isFirst = false
    context.exchange.respond(200, {}, '{}')
  }, 20)
  const seats = () => flowControl.levels.get('only')?.seatsInUse
  await get('jane')
  assert.equal(seats(), 0)
  const next = [get('jane')]
  assert.equal(seats(), 4)
  next.push(get('john'))
  assert.equal(seats(), 5)
  next.push(get('jane', '/api/v1/namespaces/a/secrets/b'))
  assert.equal(seats(), 6)
  finish.resolve()
  for (const { status } of await Promise.all(next)) assert.equal(status, 200)
})

test('a watch gives its seat up once it has begun', async () => {
  const { get, flowControl } = server(({ exchange }) => {
    exchange.stream(200, {}).write('{}')
  })
  await get('jane', '/api/v1/pods?watch=true')
  assert.equal(flowControl.levels.get('only')?.seatsInUse, 0)
})

test('a watch is counted as long-running until it ends', async () => {
  let end = () => {}
  const { get, metrics } = server(({ exchange }) => {
    const stream = exchange.stream(200, {})
    end = () => stream.end()
  })
  await get('jane', '/api/v1/pods?watch=true')
  assert.match(metrics.text(), /apiserver_longrunning_requests\{.*verb="WATCH".*\} 1/)
  end()
  assert.match(metrics.text(), /apiserver_longrunning_requests\{.*verb="WATCH".*\} 0/)
  assert.match(metrics.text(), /apiserver_request_total\{code="200",.*verb="WATCH"/)
})

test('what was decided, and why, is noted in the audit log', async () => {
  const { get, events } = server(ok)
  await get('jane')
  await get('stranger')
  const decisions = events.filter(({ stage }) => stage === 'ResponseComplete').map(({ annotations }) => annotations)
  assert.deepEqual(decisions, [
    { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': 'because' },
    { 'authorization.k8s.io/decision': 'forbid', 'authorization.k8s.io/reason': 'because' },
  ])
})

test('the one who impersonates and the one who is impersonated are both on record', async () => {
  const { get, events } = server(ok)
  await get('admin', undefined, { 'impersonate-user': 'jane' })
  assert.equal(events.at(-1)?.user.username, 'admin')
  assert.equal(events.at(-1)?.impersonatedUser?.username, 'jane')
})

test('those who are not let in are counted and on record', async () => {
  const { get, events, metrics } = server(ok)
  assert.equal((await get('')).status, 401)
  assert.deepEqual(
    events.map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
    [['ResponseStarted', 401]],
  )
  assert.match(metrics.text(), /authentication_attempts\{result="failure"\} 1/)
})

test('a crash is answered, logged and on record', async () => {
  const { get, events, logged } = server(() => {
    throw new TypeError('x is not a function')
  })
  assert.equal((await get('jane')).status, 500)
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'Panic'],
  )
  assert.ok(logged.some(({ level: severity, message }) => severity === 'error' && message === 'request failed'))
})

test('every request is a line of the debug log', async () => {
  const { get, logged } = server(ok)
  await get('jane', '/api/v1/namespaces/a/pods/b', { 'user-agent': 'kubectl' })
  const { fields } = logged.find(({ message }) => message === 'request') as LogRecord
  const { verb, uri, status, user, userAgent, from, flowSchema, priorityLevel } = fields
  assert.deepEqual(
    { verb, uri, status, user, userAgent, from, flowSchema, priorityLevel },
    {
      verb: 'get',
      uri: '/api/v1/namespaces/a/pods/b',
      status: 200,
      user: 'jane',
      userAgent: 'kubectl',
      from: '10.0.0.1',
      flowSchema: 'all',
      priorityLevel: 'only',
    },
  )
})
