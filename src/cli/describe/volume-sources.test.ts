import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Description } from '#cli/describe/description.ts'
import { describeVolumeSource } from '#cli/describe/volume-sources.ts'

function described(volume: object, options: { isPersistent?: boolean } = {}): string | undefined {
  const out = new Description(0)
  return describeVolumeSource(out, volume, options) ? out.text() : undefined
}

test('a volume of a storage system is shown with its fields, and with what is left out', () => {
  assert.match(
    described({ name: 'v', iscsi: { targetPortal: '1.2.3.4', iqn: 'iqn.x', lun: 0, portals: ['a', 'b'], secretRef: { name: 's' } } }) ?? '',
    /Type: +ISCSI .*\n +TargetPortal: +1\.2\.3\.4\n[\s\S]*Portals: +\[a b\]\n[\s\S]*SecretRef: +&LocalObjectReference\{Name:s,\}\n +InitiatorName: +<none>\n/,
  )
  assert.match(
    described({ flexVolume: { driver: 'd', options: { b: '1', a: '2' } } }) ?? '',
    /SecretRef: +nil\n[\s\S]*Options: +map\[a:2 b:1\]\n/,
  )
})

test('persistent volumes tell of the namespace of what they need', () => {
  assert.match(described({ glusterfs: { endpoints: 'e' } }, { isPersistent: true }) ?? '', /EndpointsNamespace: +<unset>\n/)
  assert.doesNotMatch(described({ glusterfs: { endpoints: 'e' } }) ?? '', /EndpointsNamespace/)
})

test('what is none of these is left to others', () => assert.equal(described({ name: 'v', emptyDir: {} }), undefined))
