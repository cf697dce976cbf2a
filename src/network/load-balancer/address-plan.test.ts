import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCommand, linkFor, removeCommand } from '#network/load-balancer/address-plan.ts'

const link = (ifname: string, ...addresses: string[]) => ({
  ...{ ifname, ifindex: 1, flags: [], mtu: 1500 },
  addr_info: addresses.map((text) => {
    const [local = '', prefixlen = ''] = text.split('/')
    return { family: local.includes(':') ? 'inet6' : 'inet', local, prefixlen: Number(prefixlen), scope: 'global' }
  }),
})
const links = [link('lo', '127.0.0.1/8'), link('eth0', '192.168.1.5/24', 'fd00::5/64'), link('tn-a', '172.30.4.1/24', '172.30.4.200/32')]

test('an address belongs where its neighbours are, else where packets leave', () => {
  assert.equal(linkFor('172.30.4.201', links, 'eth0'), 'tn-a')
  assert.equal(linkFor('192.168.1.240', links, 'tn-a'), 'eth0')
  assert.equal(linkFor('fd00::99', links, undefined), 'eth0')
  assert.equal(linkFor('10.0.0.1', links, 'eth0'), 'eth0')
  assert.equal(linkFor('10.0.0.1', links, undefined), undefined)
})

test('an address that others may get has a life that must be confirmed', () => {
  assert.equal(addCommand({ address: '10.0.0.1', link: 'eth0' }, 45), 'address replace 10.0.0.1/32 dev eth0 valid_lft 45 preferred_lft 45')
  assert.equal(
    addCommand({ address: 'fd00::1', link: 'eth0' }, undefined),
    'address replace fd00::1/128 dev eth0 nodad valid_lft forever preferred_lft forever',
  )
  assert.equal(removeCommand({ address: '10.0.0.1', link: 'eth0' }), 'address delete 10.0.0.1/32 dev eth0')
})
