import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cycloneDx, licenseList, shippedPackages } from './sbom.ts'

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8'))
const product = { name: 'typernetes', version: '1.0.0', license: 'Apache-2.0' }
/** All of them may be shipped with a program under the Apache licence. */
const taken = /^(MIT|ISC|BSD-2-Clause|BSD-3-Clause|Apache-2\.0|PSF-2\.0|Python-2\.0|0BSD|BlueOak-1\.0\.0)$/

test('every shipped package has a version, a licence that may be shipped, and a hash', () => {
  const packages = shippedPackages(lock)
  const names = packages.map(({ name }) => name)
  for (const name of ['ws', 'pino', '@grpc/grpc-js', 'js-yaml']) assert.ok(names.includes(name), name)
  assert.ok(!names.includes('typescript'), 'what only the making needs is not shipped')
  for (const { name, version, license, integrity } of packages) {
    assert.match(version, /^\d/, name)
    assert.match(license, taken, name)
    assert.match(integrity, /^sha512-/, name)
  }
})

test('the bill of materials is CycloneDX, with a component for each', () => {
  const packages = shippedPackages(lock)
  const bom = cycloneDx(product, packages) as { bomFormat: string; specVersion: string; components: { purl: string; hashes: object[] }[] }
  assert.equal(bom.bomFormat, 'CycloneDX')
  assert.equal(bom.components.length, packages.length)
  for (const { purl, hashes } of bom.components) {
    assert.match(purl, /^pkg:npm\/(%40[\w-]+\/)?[\w.-]+@\d/)
    assert.equal(hashes.length, 1)
  }
  assert.equal(
    new Set(bom.components.map(({ purl }) => purl)).size,
    new Set(packages.map(({ name, version }) => `${name}@${version}`)).size,
  )
})

test('the list of licences has their texts', () => {
  const list = licenseList(
    [{ name: 'a', version: '1.0.0', license: 'MIT', integrity: '', isOptional: false, path: 'node_modules/a' }],
    () => 'Permission is granted\n',
  )
  assert.match(list, /\| a \| 1\.0\.0 \| MIT \|/)
  assert.match(list, /## a 1\.0\.0\n\n```text\nPermission is granted\n```/)
})
