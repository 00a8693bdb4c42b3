package agents_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

// This file has the four dialects in which agents talk to models.

// dialect is a request in one of them.
type dialect interface {
	conversation() conversation
	answer(w http.ResponseWriter, stream bool, a answer)
}

// textOf returns the text of a content: a string, or parts of which some have texts.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// schema is that of a tool's arguments.
type schema struct {
	Properties map[string]property `json:"properties"`
}

// messages is a request to /v1/messages.
type messages struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name   string `json:"name"`
		Schema schema `json:"input_schema"`
	} `json:"tools"`
}

func (d *messages) conversation() conversation {
	c := conversation{stream: d.Stream}
	for _, t := range d.Tools {
		c.tools = append(c.tools, tool{name: t.Name, properties: t.Schema.Properties})
	}
	for _, m := range d.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			Text    string          `json:"text"`
			Name    string          `json:"name"`
			Input   json.RawMessage `json:"input"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			c.items = append(c.items, item{user: m.Role == "user", text: textOf(m.Content)})
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				c.items = append(c.items, item{user: m.Role == "user", text: b.Text})
			case "tool_use":
				c.items = append(c.items, item{call: calledWith(b.Name, b.Input)})
			case "tool_result":
				c.items = append(c.items, item{result: textOf(b.Content)})
			}
		}
	}
	return c
}

func (d *messages) answer(w http.ResponseWriter, stream bool, a answer) {
	block, stop := object{"type": "text", "text": a.text}, "end_turn"
	begin, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.call != nil {
		block, stop = object{"type": "tool_use", "id": a.id, "name": a.call.name, "input": a.call.args}, "tool_use"
		input, _ := json.Marshal(a.call.args)
		begin, delta = object{"type": "tool_use", "id": a.id, "name": a.call.name, "input": object{}}, object{"type": "input_json_delta", "partial_json": string(input)}
	}
	message := object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": d.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
	if !stream {
		message["content"], message["stop_reason"] = []any{block}, stop
		reply(w, message)
		return
	}
	events := []any{object{"type": "message_start", "message": message}, object{"type": "content_block_start", "index": 0, "content_block": begin}}
	events = append(events, saying(a, func(word string) any {
		return object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": word}}
	})...)
	streamed(w, true, append(events,
		object{"type": "content_block_delta", "index": 0, "delta": delta}, object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}},
		object{"type": "message_stop"}))
}

// chat is a request to /v1/chat/completions.
type chat struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name   string `json:"name"`
			Schema schema `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

func (d *chat) conversation() conversation {
	c := conversation{stream: d.Stream}
	for _, t := range d.Tools {
		c.tools = append(c.tools, tool{name: t.Function.Name, properties: t.Function.Schema.Properties})
	}
	for _, m := range d.Messages {
		text := textOf(m.Content)
		if m.Role == "tool" {
			c.items = append(c.items, item{result: text})
			continue
		}
		c.items = append(c.items, item{user: m.Role == "user", text: text})
		for _, call := range m.Calls {
			c.items = append(c.items, item{call: calledWith(call.Function.Name, call.Function.Arguments)})
		}
	}
	return c
}

func (d *chat) answer(w http.ResponseWriter, stream bool, a answer) {
	message, finish := object{"role": "assistant", "content": a.text}, "stop"
	if a.call != nil {
		args, _ := json.Marshal(a.call.args)
		message = object{"role": "assistant", "content": nil, "tool_calls": []any{
			object{"index": 0, "id": a.id, "type": "function", "function": object{"name": a.call.name, "arguments": string(args)}},
		}}
		finish = "tool_calls"
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	whole := func(kind string, choice object) object {
		choice["index"] = 0
		return object{"id": "chat_" + a.id, "created": 1, "model": d.Model, "object": kind, "choices": []any{choice}}
	}
	if !stream {
		o := whole("chat.completion", object{"message": message, "finish_reason": finish})
		o["usage"] = usage
		reply(w, o)
		return
	}
	events := saying(a, func(word string) any {
		return whole("chat.completion.chunk", object{"delta": object{"role": "assistant", "content": word}, "finish_reason": nil})
	})
	last := whole("chat.completion.chunk", object{"delta": object{}, "finish_reason": finish})
	last["usage"] = usage
	streamed(w, false, append(events, whole("chat.completion.chunk", object{"delta": message, "finish_reason": nil}), last, "[DONE]"))
}

// responses is a request to /v1/responses.
type responses struct {
	Model  string          `json:"model"`
	Stream bool            `json:"stream"`
	Input  json.RawMessage `json:"input"` // a text, or items
	Tools  []responsesTool `json:"tools"`
}

// responsesTool is a tool, or a group of them (type "namespace").
type responsesTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema schema          `json:"parameters"`
	Tools  []responsesTool `json:"tools"`
}

func (d *responses) conversation() conversation {
	c := conversation{stream: d.Stream}
	for _, t := range d.Tools {
		name := t.Name
		if name == "" {
			name = t.Type
		}
		c.tools = append(c.tools, tool{name: name, properties: t.Schema.Properties})
		for _, inner := range t.Tools {
			c.tools = append(c.tools, tool{name: inner.Name, group: t.Name, properties: inner.Schema.Properties})
		}
	}
	var items []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Output    json.RawMessage `json:"output"`
	}
	if json.Unmarshal(d.Input, &items) != nil {
		c.items = append(c.items, item{user: true, text: textOf(d.Input)})
	}
	for _, i := range items {
		switch {
		case strings.HasSuffix(i.Type, "_call_output"):
			c.items = append(c.items, item{result: string(i.Output)})
		case strings.HasSuffix(i.Type, "_call"):
			c.items = append(c.items, item{call: calledWith(i.Name, i.Arguments)})
		default:
			c.items = append(c.items, item{user: i.Role == "user", text: textOf(i.Content)})
		}
	}
	return c
}

func (d *responses) answer(w http.ResponseWriter, stream bool, a answer) {
	out := object{
		"type": "message", "id": "m_" + a.id, "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": a.text, "annotations": []any{}}},
	}
	if a.call != nil {
		args, _ := json.Marshal(a.call.args)
		out = object{"type": "function_call", "id": "f_" + a.id, "call_id": a.id, "name": a.call.name, "arguments": string(args), "status": "completed"}
		if a.call.group != "" {
			out["namespace"] = a.call.group
		}
	}
	response := func(status string, output []any) object {
		return object{
			"id": "resp_" + a.id, "object": "response", "created_at": 1, "status": status, "model": d.Model, "output": output,
			"usage": object{
				"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
				"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15,
			},
		}
	}
	if !stream {
		reply(w, response("completed", []any{out}))
		return
	}
	begin := object{}
	for key, value := range out {
		begin[key] = value
	}
	begin["status"] = "in_progress"
	events := []any{
		object{"type": "response.created", "response": response("in_progress", []any{})},
		object{"type": "response.output_item.added", "output_index": 0, "item": begin},
	}
	said := func(word string) any {
		return object{"type": "response.output_text.delta", "item_id": "m_" + a.id, "output_index": 0, "content_index": 0, "delta": word}
	}
	events = append(events, saying(a, said)...)
	if a.call == nil {
		events = append(events, said(a.text))
	}
	streamed(w, true, append(events,
		object{"type": "response.output_item.done", "output_index": 0, "item": out},
		object{"type": "response.completed", "response": response("completed", []any{out})}))
}

// gemini is a request to :generateContent or :streamGenerateContent.
type gemini struct {
	stream   bool
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text string `json:"text"`
			Call *struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
			Result *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []struct {
			Name   string `json:"name"`
			Schema schema `json:"parameters"`
			Newer  schema `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MIME string `json:"responseMimeType"`
	} `json:"generationConfig"`
}

func (d *gemini) conversation() conversation {
	c := conversation{stream: d.stream, wantsJSON: d.Config.MIME == "application/json"}
	for _, t := range d.Tools {
		for _, f := range t.Functions {
			properties := f.Newer.Properties
			if properties == nil {
				properties = f.Schema.Properties
			}
			c.tools = append(c.tools, tool{name: f.Name, properties: properties})
		}
	}
	for _, m := range d.Contents {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				c.items = append(c.items, item{call: calledWith(p.Call.Name, p.Call.Args)})
			case p.Result != nil:
				c.items = append(c.items, item{result: string(p.Result.Response)})
			default:
				c.items = append(c.items, item{user: m.Role == "user", text: p.Text})
			}
		}
	}
	return c
}

func (d *gemini) answer(w http.ResponseWriter, stream bool, a answer) {
	part := func(p object) object {
		return object{"content": object{"role": "model", "parts": []any{p}}, "index": 0}
	}
	candidate := part(object{"text": a.text})
	if a.call != nil {
		candidate = part(object{"functionCall": object{"name": a.call.name, "args": a.call.args}})
	}
	candidate["finishReason"] = "STOP"
	whole := object{
		"candidates": []any{candidate}, "modelVersion": "fake",
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	}
	if !stream {
		reply(w, whole)
		return
	}
	events := saying(a, func(word string) any { return object{"candidates": []any{part(object{"text": word})}} })
	streamed(w, false, append(events, whole))
}
