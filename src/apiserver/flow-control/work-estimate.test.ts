import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { seatsFor } from './work-estimate.ts'

const cases: [method: string, target: string, stored: number, seats: number][] = [
  ['GET', '/api/v1/pods', 0, 1],
  ['GET', '/api/v1/pods', 100, 1],
  ['GET', '/api/v1/pods', 101, 2],
  ['GET', '/api/v1/pods', 100_000, 10],
  ['GET', '/api/v1/pods?limit=100&continue=x', 100_000, 2],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da', 100_000, 1],
  ['GET', '/api/v1/pods?watch=true', 1000, 10],
  ['GET', '/api/v1/pods?watch=true&resourceVersion=7', 1000, 1],
  ['GET', '/api/v1/pods?watch=true&resourceVersion=7&sendInitialEvents=true', 1000, 10],
  ['GET', '/api/v1/namespaces/a/pods/b', 100_000, 1],
  ['POST', '/api/v1/namespaces/a/pods', 100_000, 1],
]

for (const [method, target, stored, seats] of cases) {
  test(`${method} ${target} takes ${seats} of ${stored} objects`, () => {
    const [path = '', search = ''] = target.split('?')
    const query = new URLSearchParams(search)
    assert.equal(
      seatsFor(requestInfo(method, path, query), query, () => stored),
      seats,
    )
  })
}
