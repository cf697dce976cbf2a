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
  ] as const)
    assert.throws(() => new GoTemplate(template), complaint)
})

test('a missing key ends it where that is wanted', () => {
  assert.throws(() => new GoTemplate('{{.nosuch}}').render(pod, { allowsMissing: false }), /map has no entry for key "nosuch"/)
})
