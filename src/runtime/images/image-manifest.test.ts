import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfigFile, partsOf } from '#runtime/images/image-manifest.ts'

test('a configuration whose values have other types than they may is refused when it comes', () => {
  for (const config of [{ User: 5 }, { Env: 'A=1' }, { Cmd: [1] }, { Labels: { a: 1 } }, { StopSignal: {} }])
    assert.throws(() => parseConfigFile(JSON.stringify({ config })), /no sensible/, JSON.stringify(config))
  assert.throws(() => parseConfigFile('{"rootfs":{"diff_ids":[1]}}'), /names no layers/)
})

test('what is null is not there', () => {
  const { config } = parseConfigFile('{"config":{"User":null,"Cmd":["a"],"Volumes":null}}')
  assert.deepEqual(config, { Cmd: ['a'] })
  assert.equal(parseConfigFile('{"config":null}').config, null)
})

test('a configuration of hundreds of megabytes is not fetched', () => {
  const descriptor = { mediaType: '', digest: '' }
  assert.throws(() => partsOf({ config: { ...descriptor, size: 400 << 20 } }), /4194304 are allowed/)
  assert.throws(() => partsOf({ config: descriptor as never }), /are allowed/)
})
