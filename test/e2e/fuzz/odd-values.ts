/** JSON that surprises: values of the wrong type, and texts that are none. */
import type { Random } from '#base/random.ts'

const odd: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, '', 'a', '0', 'null', '\u0000', '\ud800', 'x'.repeat(70_000), [], {}, [null], [[]]],
  ...[{ a: null }, { '': 1 }, { constructor: { prototype: 1 } }, [{ name: 'a' }, { name: 'a' }], { name: null }, { a: { b: { c: [] } } }],
  ...[
    '2024-13-01T00:00:00Z',
    '1h',
    '-5',
    '10Gi',
    '99999999999999999999Ei',
    '1.2.3.4',
    '::',
    '10.0.0.0/33',
    'a/b/c',
    '*',
    '$(A)',
    '{{',
    '100%',
  ],
]

export function oddValue(random: Random): unknown {
  return structuredClone(odd[random.int(odd.length)])
}

/** Puts something wrong somewhere into the object. */
export function mutated(object: Record<string, unknown>, random: Random): void {
  let place: Record<string, unknown> = object
  for (;;) {
    const keys = Object.keys(place)
    const key = keys[random.int(keys.length)]
    if (key === undefined) return
    const value = place[key]
    if (typeof value === 'object' && value !== null && random.int(3) > 0) {
      place = value as Record<string, unknown>
      continue
    }
    const dice = random.int(4)
    if (dice === 0) delete place[key]
    else if (dice === 1 && !Array.isArray(place)) place[random.int(2) === 0 ? `${key}x` : '\u0001'] = oddValue(random)
    else place[key] = oddValue(random)
    return
  }
}

const broken: readonly (string | Buffer)[] = [
  ...[
    '',
    ' ',
    '{',
    '}',
    '[',
    '"',
    'nul',
    'null',
    'true',
    '1',
    '-',
    '1e',
    '"\\u12"',
    '{"a":}',
    '{"a":1,}',
    '{"a":1 "b":2}',
    '{a:1}',
    "{'a':1}",
  ],
  ...[
    '{"kind":"Pod","kind":"Pod"}',
    '{"__proto__":{"a":1}}',
    '{"metadata":{"name":"a","name":"b"}}',
    '\ufeff{}',
    '{}{}',
    '{} x',
    '/* */{}',
  ],
  ...['['.repeat(20_000), '{"a":'.repeat(20_000), `${'['.repeat(5000)}${']'.repeat(5000)}`, `{"a":${'9'.repeat(5000)}}`, '{"a":1e999999}'],
  ...[
    'a: b\n c: d\n- e',
    '&a [*a]',
    '!!js/function x',
    '%YAML 9.9\n---\n',
    'a: &x [1,1]\nb: [*x,*x]\n',
    '? [a]: b',
    '--- a\n--- b\n',
    '\t- x',
  ],
  ...[
    Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
    Buffer.from([0x6b, 0x38, 0x73, 0x00]),
    Buffer.from([0x6b, 0x38, 0x73, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff]),
    Buffer.from([0x1f, 0x8b]),
  ],
]

export function brokenJson(random: Random): Buffer {
  return Buffer.from((broken[random.int(broken.length)] ?? '') as string)
}
