import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedMetrics } from '#base/merge-metrics.ts'
import { Metrics } from '#base/metrics.ts'

function metricsOf(requests: number, inflight: number, resident: number): string {
  const metrics = new Metrics()
  metrics.counter('apiserver_request_total', 'Requests.').inc({ verb: 'GET' }, requests)
  metrics.gauge('apiserver_current_inflight_requests', 'Requests that run.').set(inflight)
  metrics.gauge('apiserver_storage_objects', 'Objects.').set(7, { resource: 'pods' })
  metrics.gauge('process_resident_memory_bytes', 'Memory.').set(resident)
  metrics.histogram('seconds', 'How long.', [1, 2]).observe(requests)
  return metrics.text()
}

test('counters, histograms and parts are added up; what all servers say alike is said once', () => {
  const merged = mergedMetrics([metricsOf(1, 2, 100), metricsOf(2, 3, 50), ''])
  assert.equal(
    merged,
    `# HELP apiserver_request_total Requests.
# TYPE apiserver_request_total counter
apiserver_request_total{verb="GET"} 3
# HELP apiserver_current_inflight_requests Requests that run.
# TYPE apiserver_current_inflight_requests gauge
apiserver_current_inflight_requests 5
# HELP apiserver_storage_objects Objects.
# TYPE apiserver_storage_objects gauge
apiserver_storage_objects{resource="pods"} 7
# HELP process_resident_memory_bytes Memory.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 100
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_bucket{le="2"} 2
seconds_bucket{le="+Inf"} 2
seconds_sum 3
seconds_count 2
`,
  )
})

test('what only one server has counted yet is there too', () => {
  assert.match(mergedMetrics(['', '# HELP a A.\n# TYPE a counter\na 4\n']), /^a 4$/m)
})
