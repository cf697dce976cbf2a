import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '#base/metrics.ts'
import { ProxyMetrics } from '#ingress/data-plane/proxy-metrics.ts'
import { RequestCounts } from '#ingress/data-plane/request-counts.ts'
import type { Route } from '#ingress/routing/route.ts'

const route: Route = { name: 'Ingress default/web', host: 'shop.example', order: '', path: { type: 'Prefix', value: '/' }, backends: [] }

test('requests of several threads are shown by route, host, method and status, with durations and what went wrong', () => {
  const metrics = new Metrics()
  const shown = new ProxyMetrics(metrics)
  for (const durationMs of [3, 40]) {
    const counts = new RequestCounts()
    counts.answered(route, 'GET', 200, durationMs)
    counts.answered(route, 'BREW', 502, 20_000)
    counts.failed(route, 'default/web:80', 'unreachable')
    counts.refused('GET', 404)
    shown.add(counts.take())
    assert.deepEqual(counts.take(), [])
  }
  const text = metrics.text()
  const of = 'kind="Ingress",namespace="default",name="web",host="shop.example"'
  for (const line of [
    `ingress_requests_total{${of},method="GET",status="200"} 2`,
    `ingress_requests_total{${of},method="other",status="502"} 2`,
    'ingress_requests_total{kind="",namespace="",name="",host="",method="GET",status="404"} 2',
    `ingress_request_duration_seconds_bucket{${of},le="0.005"} 1`,
    `ingress_request_duration_seconds_bucket{${of},le="0.05"} 2`,
    `ingress_request_duration_seconds_bucket{${of},le="+Inf"} 4`,
    `ingress_request_duration_seconds_sum{${of}} 40.043`,
    `ingress_upstream_errors_total{${of},backend="default/web:80",reason="unreachable"} 2`,
  ])
    assert.ok(text.includes(`${line}\n`), `${line} in\n${text}`)
})
