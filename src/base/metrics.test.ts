import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exponentialBuckets, Metrics } from '#base/metrics.ts'

test('metrics are printed in the text format of Prometheus', () => {
  const metrics = new Metrics()
  const requests = metrics.counter('requests_total', 'How many.')
  requests.inc({ code: '200', verb: 'GET' })
  requests.with({ code: '200', verb: 'GET' }).inc(2)
  requests.inc({ code: '404', verb: 'quo"ted\\ \n' })
  const depth = metrics.gauge('depth', 'How deep.')
  depth.set(5)
  depth.add(-2)
  metrics.measured('objects', 'How many there are.', () => [[{ resource: 'pods' }, 3]])
  const latency = metrics.histogram('seconds', 'How long.', [0.1, 1])
  latency.observe(0.05)
  latency.observe(0.1)
  latency.with({}).observe(5)
  metrics.counter('never_used', 'Has no samples, so it is not shown.')
  assert.equal(
    metrics.text(),
    [
      '# HELP requests_total How many.',
      '# TYPE requests_total counter',
      'requests_total{code="200",verb="GET"} 3',
      'requests_total{code="404",verb="quo\\"ted\\\\ \\n"} 1',
      '# HELP depth How deep.',
      '# TYPE depth gauge',
      'depth 3',
      '# HELP objects How many there are.',
      '# TYPE objects gauge',
      'objects{resource="pods"} 3',
      '# HELP seconds How long.',
      '# TYPE seconds histogram',
      'seconds_bucket{le="0.1"} 2',
      'seconds_bucket{le="1"} 2',
      'seconds_bucket{le="+Inf"} 3',
      'seconds_sum 5.15',
      'seconds_count 3',
      '',
    ].join('\n'),
  )
})

test('a metric cannot be declared twice', () => {
  const metrics = new Metrics()
  metrics.gauge('a', '')
  assert.throws(() => metrics.counter('a', ''), /the metric a is declared twice/)
})

test('exponential buckets grow by their factor', () => {
  assert.deepEqual(exponentialBuckets(1, 2, 4), [1, 2, 4, 8])
})
