import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { pageSizeBytes } from '#kubelet/volumes/huge-pages.ts'
import { memorySizeBytes } from '#kubelet/volumes/memory-size.ts'

const Mi = 2 ** 20
const limited = (memory: string) => ({ name: 'c', resources: { limits: { memory } } })
const paged = (...names: string[]) => ({ name: 'c', resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) } })
const aPod = (spec: Partial<V1PodSpec>): V1Pod => ({ metadata: {}, spec: { containers: [{ name: 'c' }], ...spec } }) as V1Pod

const sizes: [what: string, spec: Partial<V1PodSpec>, sizeLimit: string | undefined, bytes: number | undefined, memory?: string][] = [
  ['all the node has', {}, undefined, 64 * Mi],
  ['what it asks for', {}, '1Mi', Mi],
  ['no more than the node has', {}, '1Gi', 64 * Mi],
  ['no more than the pod may have', { containers: [limited('2Mi'), limited('3Mi')] }, '60Mi', 5 * Mi],
  ['less than the pod may have', { containers: [limited('2Mi')] }, '1Mi', Mi],
  ['what it likes, where one container may have what it likes', { containers: [limited('2Mi'), { name: 'd' }] }, undefined, 64 * Mi],
  ['what the pod as a whole may have', { containers: [{ name: 'd' }], resources: { limits: { memory: '7Mi' } } }, undefined, 7 * Mi],
  ['with sidecars', { containers: [limited('2Mi')], initContainers: [{ ...limited('1Mi'), restartPolicy: 'Always' }] }, undefined, 3 * Mi],
  ["the kernel's choice where nothing is known", {}, undefined, undefined, '0'],
]

for (const [what, spec, sizeLimit, bytes, memory = '64Mi'] of sizes) {
  test(`a volume in memory may have ${what}`, () => assert.equal(memorySizeBytes(aPod(spec), sizeLimit, { memory }), bytes))
}

const pages: [medium: string, requests: string[], found: number | string][] = [
  ['HugePages', ['hugepages-2Mi'], 2 * Mi],
  ['HugePages', ['hugepages-2Mi', 'hugepages-1Gi'], "medium: HugePages can't be used if container requests multiple huge page sizes"],
  ['HugePages', ['cpu'], 'medium HugePages: hugePages storage requested, but there is no resource request for huge pages'],
  ['HugePages-1Gi', ['hugepages-2Mi', 'hugepages-1Gi'], 1024 * Mi],
  [
    'HugePages-1Gi',
    ['hugepages-2Mi'],
    'medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages',
  ],
]

for (const [medium, requests, found] of pages) {
  test(`${medium} with requests for ${requests}: ${found}`, () => {
    const size = () => pageSizeBytes(medium, aPod({ containers: [paged(...requests)] }))
    if (typeof found === 'number') assert.equal(size(), found)
    else assert.throws(size, { message: found })
  })
}
