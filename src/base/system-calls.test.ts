import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { whyNoSystemCalls } from '#base/system-calls.ts'

/** A hundred mebibytes of large buffers, with small ones between them that stay: how many mebibytes are left when the large ones are gone. */
const holes = `
  const { tuneAllocator } = await import(process.argv[1])
  tuneAllocator()
  const before = process.memoryUsage.rss()
  const small = []
  let large = Array.from({ length: 100 }, () => {
    for (let index = 0; index < 20; index++) small.push(Buffer.allocUnsafeSlow(1000).fill(1))
    return Buffer.allocUnsafeSlow(1 << 20).fill(1)
  })
  large = undefined
  const leftMebibytes = () => Math.round((process.memoryUsage.rss() - before) / (1 << 20))
  // Another thread frees what was collected, when it has its turn.
  for (const endMs = Date.now() + 60_000; leftMebibytes() >= 50 && Date.now() < endMs; ) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  console.log(leftMebibytes(), small.length)
`

test('memory of large buffers goes back to the machine, whatever stays between them', { skip: whyNoSystemCalls() ?? false }, () => {
  const args = ['--expose-gc', '--input-type=module', '-e', holes, import.meta.resolve('#base/system-calls.ts')]
  const [left = 100, small] = execFileSync(process.execPath, args, { encoding: 'utf8' }).split(' ').map(Number)
  assert.equal(small, 2000)
  assert.ok(left < 50, `${left} MiB are left`)
})
