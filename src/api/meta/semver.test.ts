import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareSemver, parseSemver } from '#api/meta/semver.ts'

test('only whole versions are versions', () => {
  for (const text of ['0.0.0', '1.2.3', '1.2.3-rc.1', '1.2.3-0a', '1.2.3+build.01', '1.2.3-a+b']) assert.ok(parseSemver(text), text)
  for (const text of ['', '1', '1.2', '01.2.3', 'v1.2.3', '1.2.3-', '1.2.3-01', '1.2.3-a..b', '1.2.3+'])
    assert.equal(parseSemver(text), undefined, text)
})

test('versions are ordered as their numbers and prereleases are', () => {
  const ordered = ['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0', '1.2.0', '1.10.0']
  const versions = ordered.map((text) => parseSemver(text))
  for (const [index, version] of versions.entries()) {
    const next = versions[index + 1]
    if (version && next) assert.ok(compareSemver(version, next) < 0, `${ordered[index]} < ${ordered[index + 1]}`)
  }
})
