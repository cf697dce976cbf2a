import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addElement, emptyFragment } from '#wire/nftables/nft-fragment.ts'
import { NftTable } from '#wire/nftables/nft-table.ts'

function base() {
  const fragment = emptyFragment()
  fragment.sets.set('ips', 'type ipv4_addr : verdict;')
  fragment.chains.set('in', ['type nat hook prerouting priority -100;', 'ip daddr vmap @ips'])
  return fragment
}

function web(to: string) {
  const fragment = emptyFragment()
  fragment.chains.set('web', [`dnat to ${to}`])
  addElement(fragment, 'ips', '10.0.0.1', 'goto web')
  return fragment
}

test('what is put is written once, and nothing is written when nothing changes', () => {
  const table = new NftTable('ip', 't')
  table.put('', base())
  table.put('web', web('10.1.0.1'))
  assert.equal(
    table.changes(),
    [
      'add map ip t ips { type ipv4_addr : verdict; }',
      'add chain ip t in { type nat hook prerouting priority -100; }',
      'add chain ip t web',
      'add element ip t ips { 10.0.0.1 : goto web }',
      'add rule ip t in ip daddr vmap @ips',
      'add rule ip t web dnat to 10.1.0.1',
      '',
    ].join('\n'),
  )
  table.settle()
  table.put('web', web('10.1.0.1'))
  assert.equal(table.hasChanges, false)
  assert.equal(table.changes(), '')
})

test('a change speaks only of what changed', () => {
  const table = new NftTable('ip', 't')
  table.put('', base())
  table.put('web', web('10.1.0.1'))
  table.settle()
  table.put('web', web('10.1.0.2'))
  assert.equal(table.changes(), 'add chain ip t web\nflush chain ip t web\nadd rule ip t web dnat to 10.1.0.2\n')
  table.put('web', web('10.1.0.1'))
  assert.equal(table.changes(), '', 'it is as it was before')
  table.remove('web')
  assert.equal(table.changes(), 'flush chain ip t web\ndelete element ip t ips { 10.0.0.1 }\ndelete chain ip t web\n')
})

test('of two owners of an element the first by name decides, and the other takes over when it goes', () => {
  const table = new NftTable('ip', 't')
  table.put('', base())
  const other = emptyFragment()
  addElement(other, 'ips', '10.0.0.1', 'drop')
  table.put('zoo', other)
  table.settle()
  table.put('web', web('10.1.0.1'))
  assert.match(table.changes(), /delete element ip t ips \{ 10.0.0.1 \}\nadd element ip t ips \{ 10.0.0.1 : goto web \}/)
  table.settle()
  table.remove('web')
  assert.match(table.changes(), /add element ip t ips \{ 10.0.0.1 : drop \}/)
})

test('a set whose declaration changes is made anew with the chains that speak of it', () => {
  const table = new NftTable('ip', 't')
  const at = (timeout: string) => {
    const fragment = emptyFragment()
    fragment.sets.set('recent', `type ipv4_addr; timeout ${timeout};`)
    fragment.chains.set('web', ['ip saddr @recent accept'])
    return fragment
  }
  table.put('web', at('1s'))
  table.settle()
  table.put('web', at('2s'))
  assert.equal(
    table.changes(),
    'flush chain ip t web\ndelete set ip t recent\nadd set ip t recent { type ipv4_addr; timeout 2s; }\nadd rule ip t web ip saddr @recent accept\n',
  )
})

test('what another run left is taken over in one step: chains filled anew, kept sets untouched, the rest gone', () => {
  const table = new NftTable('ip', 't')
  table.put('', base())
  const text = table.everything(
    {
      chains: ['in', 'old'],
      sets: [
        { name: 'ips', isMap: true },
        { name: 'recent', isMap: false },
      ],
    },
    (set) => set === 'ips',
  )
  assert.deepEqual(text.trim().split('\n'), [
    'add table ip t',
    'flush chain ip t in',
    'flush chain ip t old',
    'flush set ip t recent',
    'add map ip t ips { type ipv4_addr : verdict; }',
    'add chain ip t in { type nat hook prerouting priority -100; }',
    'add rule ip t in ip daddr vmap @ips',
    'delete chain ip t old',
    'delete set ip t recent',
  ])
})
