import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { Metrics } from '#base/metrics.ts'
import { isLongRunning, reportedVerb, scopeOf } from './labels.ts'
import { RequestMetrics } from './request-metrics.ts'

const verbs: [method: string, target: string, contentType: string | undefined, verb: string, scope: string][] = [
  ['GET', '/api/v1/namespaces/a/pods/b', undefined, 'GET', 'resource'],
  ['GET', '/api/v1/namespaces/a/pods', undefined, 'LIST', 'namespace'],
  ['GET', '/api/v1/pods', undefined, 'LIST', 'cluster'],
  ['GET', '/api/v1/pods?watch=1', undefined, 'WATCH', 'cluster'],
  ['POST', '/api/v1/namespaces/a/pods', undefined, 'POST', 'resource'],
  ['PUT', '/api/v1/nodes/a', undefined, 'PUT', 'resource'],
  ['PATCH', '/api/v1/nodes/a', 'application/merge-patch+json', 'PATCH', 'resource'],
  ['PATCH', '/api/v1/nodes/a', 'application/apply-patch+yaml', 'APPLY', 'resource'],
  ['DELETE', '/api/v1/namespaces/a/pods', undefined, 'DELETE', 'namespace'],
  ['POST', '/api/v1/namespaces/a/pods/b/exec', undefined, 'CONNECT', 'resource'],
  ['GET', '/healthz', undefined, 'GET', ''],
  ['HEAD', '/version', undefined, 'GET', ''],
  ['BREW', '/version', undefined, 'other', ''],
]

function infoOf(method: string, target: string) {
  const [path = '', search = ''] = target.split('?')
  const query = new URLSearchParams(search)
  return { info: requestInfo(method, path, query), query }
}

for (const [method, target, contentType, verb, scope] of verbs) {
  test(`${method} ${target} is counted as ${verb} of ${scope || 'no'} scope`, () => {
    const { info } = infoOf(method, target)
    assert.equal(reportedVerb(info, method, contentType), verb)
    assert.equal(scopeOf(info), scope)
  })
}

test('watches and streams are long-running, everything else is not', () => {
  const targets = [
    '/api/v1/pods?watch=true',
    '/api/v1/namespaces/a/pods/b/log',
    '/api/v1/nodes/a/proxy/x',
    '/api/v1/pods',
    '/api/v1/namespaces/a/pods/b/status',
  ]
  assert.deepEqual(
    targets.map((target) => isLongRunning(infoOf('GET', target).info)),
    [true, true, true, false, false],
  )
})

function measured(isServed = true) {
  const metrics = new Metrics()
  const requests = new RequestMetrics({ metrics, isServed: () => isServed })
  const answer = (
    method: string,
    target: string,
    code: number,
    options: { sizeBytes?: number; tookMs?: number; waitedMs?: number } = {},
  ) => {
    const { info, query } = infoOf(method, target)
    const route = requests.routeOf(info, method, query, undefined)
    requests.began(route)
    requests.answered(route, code, options.sizeBytes ?? 0, options.tookMs ?? 1, options.waitedMs ?? 0)
    requests.ended(route)
  }
  const has = (line: string) => assert.ok(metrics.text().split('\n').includes(line), `${line}\nin\n${metrics.text()}`)
  return { metrics, requests, answer, has }
}

const pods = 'group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"'

test('requests are counted by what they are and what came of them', () => {
  const { answer, has } = measured()
  answer('GET', '/api/v1/namespaces/a/pods/b', 200)
  answer('GET', '/api/v1/namespaces/a/pods/c', 200)
  answer('GET', '/api/v1/namespaces/a/pods/c', 404)
  has(`apiserver_request_total{code="200",component="apiserver",dry_run="",${pods}} 2`)
  has(`apiserver_request_total{code="404",component="apiserver",dry_run="",${pods}} 1`)
})

test('how long and how large they were is told, with and without the time they waited', () => {
  const { answer, has } = measured()
  answer('GET', '/api/v1/namespaces/a/pods/b', 200, { sizeBytes: 2000, tookMs: 300, waitedMs: 200 })
  has(`apiserver_request_duration_seconds_sum{component="apiserver",dry_run="",${pods}} 0.3`)
  has(`apiserver_request_sli_duration_seconds_sum{component="apiserver",${pods}} 0.1`)
  has(`apiserver_response_sizes_sum{component="apiserver",${pods}} 2000`)
})

test('dry runs are told apart, and malformed ones do not become labels', () => {
  const { answer, metrics } = measured()
  answer('POST', '/api/v1/namespaces/a/pods?dryRun=All', 201)
  answer('POST', '/api/v1/namespaces/a/pods?dryRun=whatever', 422)
  assert.match(metrics.text(), /dry_run="All"/)
  assert.match(metrics.text(), /dry_run="invalid"/)
  assert.doesNotMatch(metrics.text(), /whatever/)
})

test("strangers' words do not become labels", () => {
  const { answer, metrics } = measured(false)
  answer('GET', '/apis/evil.example/v9/secretwords/x', 404)
  assert.doesNotMatch(metrics.text(), /evil|secretwords/)
  assert.match(metrics.text(), /apiserver_request_total\{code="404"/)
})

test('the most requests at once since the last look is shown, and starts anew', () => {
  const { requests, has } = measured()
  const { info, query } = infoOf('GET', '/api/v1/pods')
  const route = requests.routeOf(info, 'GET', query, undefined)
  requests.began(route)
  requests.began(route)
  requests.ended(route)
  has('apiserver_current_inflight_requests{request_kind="readOnly"} 2')
  has('apiserver_current_inflight_requests{request_kind="readOnly"} 1')
  has('apiserver_current_inflight_requests{request_kind="mutating"} 0')
})

test('asking for a deprecated API shows, with the release that drops it', () => {
  const metrics = new Metrics()
  const requests = new RequestMetrics({
    metrics,
    isServed: () => true,
    deprecation: ({ resource }) => (resource === 'flunders' ? '1.40' : undefined),
  })
  const route = (target: string) => {
    const { info, query } = infoOf('GET', target)
    return requests.routeOf(info, 'GET', query, undefined)
  }
  assert.equal(route('/api/v1/pods').deprecation, undefined)
  assert.equal(route('/apis/old/v1beta1/flunders').deprecation, '1.40')
  const line =
    'apiserver_requested_deprecated_apis{group="old",removed_release="1.40",resource="flunders",subresource="",version="v1beta1"} 1'
  assert.ok(metrics.text().split('\n').includes(line))
})

test('words of strangers become no labels, and nothing is kept of them', () => {
  const { metrics, requests, answer } = measured(false)
  const routes = new Set<unknown>()
  for (let index = 0; index < 100; index++) {
    for (const path of [`/apis/stranger${index}`, `/apis/stranger${index}/v1`, `/api/stranger${index}`, `/stranger${index}`]) {
      answer('GET', path, 404)
      const { info, query } = infoOf('GET', path)
      routes.add(requests.routeOf(info, 'GET', query, undefined))
      requests.aborted(info, 'GET')
    }
    answer('GET', `/apis/stranger${index}/v1/things/a/parts${index}`, 404)
    answer(`STRANGER${index}`, `/apis/stranger${index}/v1/things?dryRun=stranger`, 404)
    requests.aborted(infoOf('GET', `/apis/stranger${index}/v1/things`).info, 'GET')
  }
  assert.equal(routes.size, 1)
  assert.doesNotMatch(metrics.text(), /stranger/i)
})
