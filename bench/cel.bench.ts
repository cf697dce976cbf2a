/** How fast expressions are compiled and run. */

import { compileAdmission } from '#api/cel/admission.ts'
import { admissionInput, Budget } from '#api/cel/admission-input.ts'
import { compileDeviceSelector, deviceMatches, deviceValue } from '#api/cel/devices.ts'
import type { Bench } from '../scripts/bench.ts'
import { threeKilobytePod } from './support/three-kilobyte-pod.ts'

function perSecond(work: () => void): number {
  for (let round = 0; round < 500; round++) work()
  let count = 0
  const startMs = performance.now()
  while (performance.now() - startMs < 500) {
    for (let round = 0; round < 100; round++) work()
    count += 100
  }
  return (count * 1000) / (performance.now() - startMs)
}

const expressions: [string, string][] = [
  ['a field', "object.metadata.name == 'x'"],
  ['a loop over containers', "object.spec.containers.all(c, c.image.startsWith('registry.example.com/') || has(c.resources))"],
  ['a pattern', "object.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"],
]

export default async function celBench(bench: Bench): Promise<void> {
  const ask = () => ({ isAllowed: true, reason: '' })
  const pod = threeKilobytePod('x')
  const input = admissionInput({ object: pod, oldObject: null, params: null, namespaceObject: null, request: {}, ask, asked: {} })
  const scope = { hasParams: false, hasAuthorizer: true }
  for (const [name, text] of expressions) {
    const result = compileAdmission(text, 'validation', scope)
    if ('detail' in result) throw new Error(result.detail)
    const { program } = result
    bench.report({ case: `cel: compile ${name}`, figure: perSecond(() => compileAdmission(text, 'validation', scope)), unit: '1/s' })
    bench.report({ case: `cel: run ${name}`, figure: perSecond(() => input.run(program, new Budget(10_000_000))), unit: '1/s' })
  }
  const selector = compileDeviceSelector(
    "device.attributes['gpu.com'].model == 'a' && device.capacity['gpu.com'].memory.isGreaterThan(quantity('1Gi'))",
  )
  if ('detail' in selector) throw new Error(selector.detail)
  const device = deviceValue({ driver: 'gpu.com', attributes: { model: { string: 'a' } }, capacity: { memory: { value: '8Gi' } } })
  bench.report({ case: 'cel: run a device selector', figure: perSecond(() => deviceMatches(selector.program, device)), unit: '1/s' })
}
