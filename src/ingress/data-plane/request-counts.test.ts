import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '#base/metrics.ts'
import type { ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { ProxyConfiguration } from '#ingress/data-plane/proxy-configuration.ts'
import { ProxyMetrics } from '#ingress/data-plane/proxy-metrics.ts'
import { RequestCounts } from '#ingress/data-plane/request-counts.ts'
import { type Route, type Site, siteKey } from '#ingress/routing/route.ts'

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

test('a backend may answer with any status, and what a route did is forgotten with it', () => {
  const metrics = new Metrics()
  const shown = new ProxyMetrics(metrics)
  const counts = new RequestCounts()
  for (let status = 200; status < 600; status++) counts.answered(route, 'GET', status, 1)
  counts.failed(route, 'default/web:80 h2c', 'closed')
  counts.refused('GET', 404)
  shown.add(counts.take())
  const series = metrics.text().match(/^ingress_requests_total.*name="web".*$/gm) ?? []
  assert.ok(series.length < 80, String(series.length))
  assert.match(metrics.text(), /backend="default\/web:80 h2c",reason="closed"} 1/)
  shown.remove('Ingress default/web', 'other.example')
  assert.match(metrics.text(), /name="web"/)
  shown.remove('Ingress default/web', 'shop.example')
  assert.doesNotMatch(metrics.text(), /name="web"/)
  assert.match(metrics.text(), /host="",method="GET",status="404"} 1/)
})

test('a route is gone from a host with its last site', () => {
  const configuration = new ProxyConfiguration()
  const site = (listener: string, ...names: string[]): Site => ({
    ...{ listener, listenerHost: '', host: 'shop.example', wildcard: 'label' },
    routes: names.map((name) => ({ ...route, name })),
  })
  const told = (update: Partial<ProxyUpdate>) =>
    configuration.add({
      ...{ sites: [], removedSites: [], backends: [], removedBackends: [] },
      ...{ pairs: [], removedPairs: [], certificates: [], removedCertificates: [], ...update },
    })
  assert.deepEqual(told({ sites: [site('http', 'a', 'b'), site('https', 'a')] }), [])
  assert.deepEqual(told({ sites: [site('http', 'a', 'c')] }), [{ name: 'b', host: 'shop.example' }])
  assert.deepEqual(told({ removedSites: [siteKey(site('http'))] }), [{ name: 'c', host: 'shop.example' }])
  assert.deepEqual([configuration.has('a', 'shop.example'), configuration.has('b', 'shop.example')], [true, false])
  assert.deepEqual(told({ removedSites: [siteKey(site('https'))] }), [{ name: 'a', host: 'shop.example' }])
})
