import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Certificate } from '#base/byte-streams.ts'
import { CertificateTable } from '#ingress/data-plane/certificate-table.ts'

function tableOf() {
  const opened: string[] = []
  const complaints: string[] = []
  const table = new CertificateTable(
    (message) => complaints.push(message),
    (cert) => {
      opened.push(cert)
      if (cert === 'bad') throw new Error('no start line')
      return { context: cert } as unknown as Certificate
    },
  )
  const shown = (host: string) => (table.find('https', host) as unknown as { context: string } | undefined)?.context
  return { table, opened, complaints, shown }
}

test('a pair is opened once, when somebody asks for it, however many hosts show it', () => {
  const { table, opened, shown } = tableOf()
  table.setPair('a/cert', { cert: 'one', key: '' })
  for (let number = 0; number < 3000; number++) table.set({ listener: 'https', host: `h${number}.example`, secret: 'a/cert' })
  assert.deepEqual(opened, [])
  for (let number = 0; number < 3000; number++) assert.equal(shown(`H${number}.example`), 'one')
  assert.deepEqual(opened, ['one'])
})

test('of many pairs those that nobody asks for any more are opened again when somebody does', () => {
  const { table, opened, shown } = tableOf()
  for (let number = 0; number < 1500; number++) {
    table.setPair(`a/${number}`, { cert: String(number), key: '' })
    table.set({ listener: 'https', host: `${number}.example`, secret: `a/${number}` })
  }
  for (let number = 0; number < 1500; number++) {
    shown('0.example')
    shown(`${number}.example`)
  }
  assert.equal(opened.length, 1500, 'the one that is asked for all the time stays')
  shown('1499.example')
  assert.equal(opened.length, 1500)
  shown('1.example')
  assert.equal(opened.length, 1501)
})

test('a pair that cannot be opened is complained of once, harms no other, and does not end what was shown before', () => {
  const { table, complaints, opened, shown } = tableOf()
  table.setPair('a/good', { cert: 'good', key: '' })
  table.setPair('a/cert', { cert: 'bad', key: '' })
  table.set({ listener: 'https', host: 'good.example', secret: 'a/good' })
  table.set({ listener: 'https', host: 'a.example', secret: 'a/cert' })
  assert.deepEqual([shown('a.example'), shown('a.example'), shown('good.example')], [undefined, undefined, 'good'])
  assert.deepEqual(complaints, ['the certificate of secret a/cert cannot be used: no start line'])
  table.setPair('a/cert', { cert: 'next', key: '' })
  assert.equal(shown('a.example'), 'next')
  table.setPair('a/cert', { cert: 'bad', key: '' })
  assert.deepEqual([shown('a.example'), shown('a.example')], ['next', 'next'])
  assert.deepEqual(opened, ['bad', 'good', 'next', 'bad'])
  table.deletePair('a/cert')
  assert.equal(shown('a.example'), undefined)
})
