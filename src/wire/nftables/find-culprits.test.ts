import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addElement, emptyFragment } from '#wire/nftables/nft-fragment.ts'
import { bringAbout, NftError, type NftProgram } from '#wire/nftables/nft-program.ts'
import { NftTable } from '#wire/nftables/nft-table.ts'

/** Takes a text that `isTaken` takes, as a whole, and wants everything that is spoken of to be declared. */
class PretendNft implements NftProgram {
  readonly taken: string[] = []
  checks = 0
  readonly #isTaken: (text: string) => boolean

  constructor(isTaken: (text: string) => boolean) {
    this.#isTaken = isTaken
  }
  readonly check = async (text: string) => {
    this.checks++
    const declared = new Set([...text.matchAll(/^add (?:chain|set|map) ip t (\S+)/gm)].map(([, name]) => name))
    const missing = [...text.matchAll(/(?:goto |jump |@)([\w-]+)/g)].find(([, name]) => !declared.has(name))
    if (text.startsWith('add table') && missing !== undefined) return `no ${missing[1]}`
    return this.#isTaken(text) ? undefined : 'conflicting intervals specified'
  }
  readonly apply = async (text: string) => {
    const why = await this.check(text)
    this.checks--
    if (why !== undefined) throw new NftError(why)
    this.taken.push(text)
  }
  readonly present = async () => undefined
  readonly hasChain = async () => true
  readonly deleteTable = async () => {}
  readonly close = () => {}
}

function aTable(count: number): NftTable {
  const table = new NftTable('ip', 't')
  const base = emptyFragment()
  base.sets.set('ips', 'type ipv4_addr : verdict;')
  base.chains.set('in', ['type filter hook forward priority 0;', 'ip daddr vmap @ips'])
  table.put('', base)
  for (let index = 0; index < count; index++) table.put(`owner ${index}`, aFragment(index))
  return table
}

function aFragment(index: number, address = `10.0.${index >> 8}.${index & 255}`) {
  const fragment = emptyFragment()
  fragment.chains.set(`chain-${index}`, ['accept'])
  // Others speak of its chain, which has to be there whoever is left out.
  fragment.chains.set(`group-${index}`, [`jump chain-${index === 0 ? 0 : index - 1}`])
  addElement(fragment, 'ips', address, `goto chain-${index}`)
  return fragment
}

const full = { isFull: true, keeps: () => false }

test('what nft does not take is left out, and everybody else is in force', async () => {
  const table = aTable(1000)
  const nft = new PretendNft((text) => !/10\.0\.1\.7\b|10\.0\.3\.9\b/.test(text))
  await bringAbout(table, nft, full)
  assert.deepEqual(
    table.takeLeftOut().map(({ owner, why }) => `${owner}: ${why}`),
    ['owner 263: conflicting intervals specified', 'owner 777: conflicting intervals specified'],
  )
  const [text = ''] = nft.taken
  assert.equal(text.match(/goto chain-/g)?.length, 998)
  assert.match(text, /^add rule ip t chain-263 drop$/m, 'those who speak of its chain find one that denies')
  assert.ok(nft.checks < 50, `${nft.checks} are too many checks`)

  table.put('owner 1', aFragment(1, '10.9.0.1'))
  await bringAbout(table, nft, { ...full, isFull: false })
  assert.match(nft.taken.at(-1) ?? '', /add element ip t ips \{ 10\.9\.0\.1 : goto chain-1 \}/, 'changes of others go on')
  table.put('owner 263', aFragment(263))
  assert.equal(table.changes(), '', 'the same once more is left out still')
  table.put('owner 263', aFragment(263, '10.9.0.2'))
  await bringAbout(table, nft, { ...full, isFull: false })
  assert.match(nft.taken.at(-1) ?? '', /add element ip t ips \{ 10\.9\.0\.2 : goto chain-263 \}/, 'another one is not')
  assert.deepEqual(table.takeLeftOut(), [])
})

test('where two are at odds, the one that came later is left out', async () => {
  const table = aTable(100)
  const nft = new PretendNft((text) => !text.includes('10.7.0.2') || (text.startsWith('add table') && !text.includes('10.7.0.1')))
  table.put('z', aFragment(100, '10.7.0.1'))
  await bringAbout(table, nft, full)
  table.put('a', aFragment(101, '10.7.0.2'))
  await assert.rejects(bringAbout(table, nft, { ...full, isFull: false }), NftError)
  const before = nft.checks
  await bringAbout(table, nft, full)
  assert.deepEqual(
    table.takeLeftOut().map(({ owner }) => owner),
    ['a'],
  )
  assert.equal(nft.checks - before, 3, 'what was taken before is not looked at again')
})

test('where nobody is to blame, nobody is left out', async () => {
  const table = aTable(10)
  await assert.rejects(bringAbout(table, new PretendNft(() => false), full), NftError)
  assert.deepEqual(table.takeLeftOut(), [])
})

test('what would be more than it says is never told to nft', async () => {
  const table = aTable(3)
  const odd = (change: (fragment: ReturnType<typeof emptyFragment>) => void) => {
    const fragment = aFragment(2)
    change(fragment)
    return fragment
  }
  for (const fragment of [
    odd(({ chains }) => chains.set('x', ['accept\nflush ruleset'])),
    odd(({ chains }) => chains.set('x', ['accept; flush ruleset'])),
    odd(({ chains }) => chains.set('x; flush ruleset', [])),
    odd(({ sets }) => sets.set('x { }\nflush ruleset\n', 'type ipv4_addr;')),
    odd(({ sets }) => sets.set('x', 'type ipv4_addr;\nflush ruleset')),
    odd((one) => addElement(one, 'ips', '10.0.0.9 : drop }\nflush ruleset', 'drop')),
    odd((one) => addElement(one, 'ips', '10.0.0.9, 10.0.0.10', 'drop')),
    odd((one) => addElement(one, 'ips', '10.0.0.9', 'drop, 10.0.0.10 : drop')),
  ]) {
    table.put('owner 2', fragment)
    const [left] = table.takeLeftOut()
    assert.equal(left?.owner, 'owner 2')
    assert.doesNotMatch(table.anew(), /flush ruleset|10\.0\.0\.10/)
  }
  const nft = new PretendNft(() => true)
  await bringAbout(table, nft, full)
  assert.match(nft.taken[0] ?? '', /goto chain-1/)
})
