import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GoTemplate } from '#cli/template/go-template.ts'

const pod = { kind: 'Pod', metadata: { name: 'web', labels: { b: '2', a: '1' } }, items: [1, 2, 3], secret: 'aGk=', empty: [] }

const cases: [template: string, output: string][] = [
  ['{{.metadata.name}}', 'web'],
  ['{{ .metadata.labels }}', 'map[a:1 b:2]'],
  ['{{.nosuch}} {{.nosuch.deeper}}', '<no value> <no value>'],
  ['{{range .items}}{{.}},{{end}}', '1,2,3,'],
  ['{{range $i, $x := .items}}{{$i}}={{$x}} {{end}}', '0=1 1=2 2=3 '],
  ['{{range .empty}}x{{else}}none{{end}}', 'none'],
  ['{{range .items}}{{if eq . 2}}{{continue}}{{end}}{{.}}{{end}}', '13'],
  ['{{range .items}}{{if eq . 2}}{{break}}{{end}}{{.}}{{end}}', '1'],
  ['{{range $k, $v := .metadata.labels}}{{$k}}:{{$v}};{{end}}', 'a:1;b:2;'],
  ['{{if and .kind (not .nosuch)}}yes{{else}}no{{end}}', 'yes'],
  ['{{if eq .kind "A"}}a{{else if eq .kind "Pod"}}p{{else}}x{{end}}', 'p'],
  ['{{with .metadata}}{{.name}} {{$.kind}}{{end}}', 'web Pod'],
  ['{{.secret | base64decode}}', 'hi'],
  ['{{index .metadata.labels "a"}}{{index .items 2}}', '13'],
  ['{{len .items}} {{len .kind}}', '3 3'],
  ['{{printf "%-5s|%03d|%v|%q" .kind 7 .items "x"}}', 'Pod  |007|[1 2 3]|"x"'],
  ['a  {{- .kind -}}  b', 'aPodb'],
  ['{{/* nothing */}}x', 'x'],
  ['{{$x := 1}}{{range .items}}{{$x = .}}{{end}}{{$x}}', '3'],
  ['{{define "t"}}<{{.}}>{{end}}{{template "t" .kind}}', '<Pod>'],
  ['{{exists . "metadata" "name"}} {{exists . "metadata" "nosuch"}}', 'true false'],
  ['{{"a\\tb"}}{{`\\n`}}', 'a\tb\\n'],
  ['{{printf "%X %05d %+d %c %U %b %o %.2f %e" 255 -3 3 65 9731 5 8 3.14159 1.5}}', 'FF -0003 +3 A U+2603 101 10 3.14 1.500000e+00'],
  ['{{printf "%d %s %q %T" "x" 3 .nosuch .items}}', '%!d(string=x) %!s(int=3) %!q(<nil>) []interface {}'],
  ['{{printf "%#v" .metadata.labels}}', 'map[string]interface {}{"a":"1", "b":"2"}'],
  ['{{printf "x" 1}} {{printf "%d"}} {{printf "%"}}', 'x%!(EXTRA int=1) %!d(MISSING) %!(NOVERB)'],
  ['{{1_000}} {{0x1F}} {{0b11}} {{0o17}} {{1e3}} {{-3}} {{1.50}}', '1000 31 3 15 1000 -3 1.5'],
  ['{{slice .kind 1}} {{slice .items 1 2}} {{slice .kind 1 3}}', 'od [2] od'],
  ['{{print nil "a" 1 2}}', '<nil>a1 2'],
  ['{{range 3}}{{.}}{{end}}', '012'],
  ['{{lt 1 2}} {{ge 2 3}} {{ne "a" "b"}}', 'true false true'],
]
for (const [template, output] of cases)
  test(`${template} gives ${output}`, () => assert.equal(new GoTemplate(template).render(pod), output))

test('what is no template is refused when it is read', () => {
  for (const [template, complaint] of [
    ['{{.a', /unclosed action/],
    ['{{nosuch}}', /function "nosuch" not defined/],
    ['{{end}}', /unexpected \{\{end\}\}/],
    ['{{if .a}}', /unexpected EOF/],
    ['{{break}}', /\{\{break\}\} outside \{\{range\}\}/],
    ['{{range}}{{end}}', /missing value for range/],
    ['{{"x}}', /unterminated quoted string/],
    ['{{/* x', /unclosed comment/],
  ] as const)
    assert.throws(() => new GoTemplate(template), complaint)
})

test('functions refuse what they cannot work with', () => {
  for (const [template, complaint] of [
    ['{{slice .kind 2 1}}', /error calling slice: invalid slice index: 2 > 1/],
    ['{{slice .kind 0 9}}', /error calling slice: index out of range: 9/],
    ['{{index .metadata 1}}', /error calling index: value has type int; should be string/],
    ['{{index .items 3}}', /error calling index: index out of range: 3/],
    ['{{eq 1 1.0}}', /error calling eq: incompatible types for comparison: int and float64/],
    ['{{eq .items .items}}', /error calling eq: non-comparable type \[1 2 3\]: \[\]interface \{\}/],
    ['{{not 1 2}}', /wrong number of args for not: want 1 got 2/],
    ['{{and}}', /wrong number of args for and: want at least 1 got 0/],
    ['{{len 3}}', /error calling len: len of type int/],
  ] as const)
    assert.throws(() => new GoTemplate(template).render(pod), complaint)
})

test('a missing key ends it where that is wanted', () => {
  assert.throws(() => new GoTemplate('{{.nosuch}}').render(pod, { allowsMissing: false }), /map has no entry for key "nosuch"/)
})
