import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileDeviceSelector, maxSelectorCost } from '#api/cel/devices.ts'

/** Upper bounds of what selectors may cost, or what is wrong with them. */
const selectors: [string, number | string][] = [
  ['true', 0],
  ["device.driver == 'dra.example.com'", 4],
  ["device.attributes['dra.example.com'].name == 'x'", 5],
  ["device.capacity['dra.example.com'].memory.isGreaterThan(quantity('1Gi'))", 6],
  ['device.attributes.all(d, device.attributes[d].all(a, true))', 3331],
  ['1', 'must evaluate to bool or the unknown type, not int'],
  ["device.attributes['a'].flag", 4],
  ['device.nope', "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^"],
  [
    "device.capacity['a'].b + 1",
    "compilation failed: ERROR: <input>:1:24: found no matching overload for '_+_' applied to '(kubernetes.Quantity, int)'\n | device.capacity['a'].b + 1\n | .......................^",
  ],
]
for (const [expression, wanted] of selectors) {
  test(`the selector ${expression}`, () => {
    const result = compileDeviceSelector(expression)
    assert.equal('detail' in result ? result.detail : result.maxCost, wanted)
  })
}

test('a selector that looks at everything again and again costs too much', () => {
  const deep = ['a', 'b', 'c', 'd'].reduceRight((inner, name) => `device.attributes.all(${name}, ${inner})`, "device.driver.matches('x+')")
  const result = compileDeviceSelector(deep)
  assert.ok('maxCost' in result && result.maxCost > maxSelectorCost)
})
